"""Formats of human-labelled sets: ProcessBench and PRM800K.

ProcessBench (`code/run_eval.py`): `label` is the 0-based first error, -1 when there is none; steps
are a list. `final_answer_correct` may be true where `label` is not -1.
PRM800K: nested; every step lists completions with a rating of -1, 0 or 1, and the chosen one. A
neutral rating (0) is not an error; it stays apart from good and bad on import. `human_completion`
is null, a text, or an object with `text`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from stepmill.pipelines.exports.base import FORMATS, Example, Format, Imported, Refused


def processbench(example: Example) -> dict[str, Any]:
    """One row of ProcessBench; it carries the first error only."""
    if example.first_error is None:
        raise Refused("first-error-unknown")
    return {
        "id": example.id,
        "generator": example.generator,
        "problem": example.prompt,
        "steps": list(example.steps),
        "final_answer_correct": example.final_correct,
        "label": example.first_error,
    }


def read_processbench(records: Sequence[Mapping[str, Any]]) -> list[Imported]:
    """Steps up to the first error are labelled, those after it are not."""
    return [
        Imported(
            prompt=record["problem"],
            steps=_paragraphs(record["steps"]),
            labels=labels_before(record["label"], len(record["steps"])),
            ratings=(None,) * len(record["steps"]),
            first_error=record["label"],
            final_correct=record["final_answer_correct"],
            generator=record["generator"],
            source="ProcessBench",
        )
        for record in records
    ]


def labels_before(first_error: int, n: int) -> tuple[int | None, ...]:
    """1 before the first error, 0 at it, None after it."""
    if first_error < 0:
        return (1,) * n
    return tuple(1 if i < first_error else 0 if i == first_error else None for i in range(n))


def _paragraphs(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts with a blank line after each but the last."""
    return tuple(f"{text}\n\n" if i < len(texts) - 1 else text for i, text in enumerate(texts))


def prm800k(example: Example) -> dict[str, Any]:
    """One labelled solution with one completion per step, as in the second phase."""
    labels = example.hard_or_none
    ratings = [None if label is None else 1 if label else -1 for label in labels]
    return {
        "question": {
            "problem": example.prompt,
            "ground_truth_answer": example.reference_answer,
            "pre_generated_steps": list(example.steps),
            "pre_generated_answer": example.final_answer,
        },
        "label": {
            "steps": [
                {
                    "completions": [{"text": text, "rating": rating, "flagged": None}],
                    "human_completion": None,
                    "chosen_completion": 0,
                }
                for text, rating in zip(example.steps, ratings, strict=True)
            ],
            "finish_reason": "found_error" if -1 in ratings else "solution",
        },
    }


def read_prm800k(records: Sequence[Mapping[str, Any]]) -> list[Imported]:
    """The chosen path of each labelled solution; alternatives are left behind.

    A human completion was written to be right, so its rating is 1. Neutral steps get no hard label.
    """
    found = []
    for record in records:
        question, steps = record["question"], record["label"]["steps"]
        path = [_chosen(step) for step in steps]
        ratings = tuple(rating for _, rating in path)
        first = next((i for i, rating in enumerate(ratings) if rating == -1), None)
        complete = record["label"]["finish_reason"] == "solution"
        found.append(
            Imported(
                prompt=question["problem"],
                steps=_paragraphs([text for text, _ in path]),
                labels=tuple({1: 1, -1: 0}.get(r) if r is not None else None for r in ratings),
                ratings=ratings,
                first_error=first if first is not None else (-1 if complete else None),
                reference_answer=question.get("ground_truth_answer"),
                source="PRM800K",
            )
        )
    return found


def _chosen(step: Mapping[str, Any]) -> tuple[str, int | None]:
    """Text and rating of the step that the labelled solution went on with.

    Where none was chosen (labelling stopped at an error), it is the first completion.
    """
    human, chosen = step.get("human_completion"), step.get("chosen_completion")
    if chosen is None and human:
        return (human if isinstance(human, str) else human["text"]), 1
    completion = step["completions"][chosen or 0]
    return completion["text"], completion["rating"]


FORMATS.register("processbench")(Format(processbench, "jsonl", soft=False, read=read_processbench))
FORMATS.register("prm800k")(Format(prm800k, "jsonl", soft=False, read=read_prm800k))

"""Formats of trainers: TRL, Math-Shepherd, RLHFlow, Qwen2.5-Math-PRM.

TRL (`trl.experimental.prm`, last in 1.13.0) casts each label with `int`, so 0.9 would train as 0:
soft labels are refused. It puts its own separator after each step and ignores a label of -100.
Math-Shepherd marks the end of a step with ` ки` in `input` and with ` +` or ` -` in `label`.
RLHFlow is a chat in which the user speaks a step and the assistant answers `+` or `-`.
Qwen2.5-Math-PRM reads a score at `<extra_0>` after each step; it has no public training format, so
the labels stand beside the messages.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from stepmill.pipelines.exports.base import (
    FORMATS,
    Example,
    Format,
    Imported,
    Refused,
    refuse_inside,
)

IGNORED = -100
"""TRL's label of a step that the loss leaves out."""
TAG = "ки"
EXTRA = "<extra_0>"
QWEN_SYSTEM = "Please reason step by step, and put your final answer within \\boxed{}."

_NUMBERED = re.compile(r"Step \d+: ")


def trl(example: Example) -> dict[str, Any]:
    """`prompt`, `completions`, `labels`: booleans, or integers where a step is left out."""
    labels = example.hard_or_none
    return {
        "prompt": example.prompt,
        "completions": list(example.steps),
        "labels": [IGNORED if label is None else label for label in labels],
    }


def math_shepherd(example: Example) -> dict[str, Any]:
    """`input`, `label`, `task`; steps are numbered where their texts are not."""
    refuse_inside(example, TAG)
    steps = [
        text if _NUMBERED.match(text) else f"Step {i}: {text}"
        for i, text in enumerate(example.steps, 1)
    ]
    marked = [f"{text} {TAG}" for text in steps]
    judged = [
        f"{text} {'+' if label else '-'}" for text, label in zip(steps, example.hard, strict=True)
    ]
    return {
        "input": f"{example.prompt} " + "\n".join(marked),
        "label": f"{example.prompt} " + "\n".join(judged),
        "task": example.source,
    }


def read_math_shepherd(records: Sequence[Mapping[str, Any]]) -> list[Imported]:
    """Steps and labels of `input` and `label`; the first step begins at `Step 1: `."""
    found = []
    for record in records:
        prompt, sign, rest = record["input"].partition("Step 1: ")
        texts = [part for part in (sign + rest).split(f" {TAG}") if part.strip()]
        place, labels = len(prompt), list[int | None]()
        for text in texts:
            place += len(text) + 1
            labels.append({"+": 1, "-": 0}[record["label"][place]])
            place += 1
        first = next((i for i, label in enumerate(labels) if label == 0), -1)
        found.append(
            Imported(
                prompt=prompt.strip(),
                steps=_joined([text.strip("\n") for text in texts]),
                labels=tuple(labels),
                ratings=(None,) * len(labels),
                first_error=first,
                source=record["task"],
            )
        )
    return found


def _joined(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts with a line break after each but the last."""
    return tuple(f"{text}\n" if i < len(texts) - 1 else text for i, text in enumerate(texts))


def rlhflow(example: Example) -> dict[str, Any]:
    """`conversations`: the first turn holds the problem and the first step."""
    if not example.steps:
        raise Refused("no-steps")
    first, *others = example.steps
    turns = [f"{example.prompt} {first}", *others]
    conversations = []
    for turn, label in zip(turns, example.hard, strict=True):
        conversations.append({"content": turn, "role": "user"})
        conversations.append({"content": "+" if label else "-", "role": "assistant"})
    return {"conversations": conversations}


def qwen(example: Example) -> dict[str, Any]:
    """`messages` with `<extra_0>` after each step, and `labels` (null: left out), one for each."""
    refuse_inside(example, EXTRA)
    return {
        "messages": [
            {"role": "system", "content": QWEN_SYSTEM},
            {"role": "user", "content": example.prompt},
            {"role": "assistant", "content": "".join(text + EXTRA for text in example.steps)},
        ],
        "labels": list(example.labels),
    }


FORMATS.register("trl")(Format(trl, "parquet", soft=False))
FORMATS.register("math-shepherd")(
    Format(math_shepherd, "jsonl", soft=False, read=read_math_shepherd)
)
FORMATS.register("rlhflow")(Format(rlhflow, "jsonl", soft=False))
FORMATS.register("qwen")(Format(qwen, "jsonl", soft=True))

"""Solutions with people's first error, read from a folder of public data sets.

The folder holds one JSON Lines file per set, under the names in `SOURCES`; docs/verification.md
says where each set comes from. Every reader gives steps counted from 0.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LabelledSolution:
    """A solution and what people say of it."""

    id: str
    question: str
    steps: list[str]
    first_error: int | None
    """0-based index of the first wrong step, -1 for none, None where nobody looked."""


def _gsm8k_gold(index: int, row: Row) -> LabelledSolution:
    lines = [line for line in row["answer"].split("\n") if not line.startswith("####")]
    return LabelledSolution(f"{row['split']}-{index}", row["question"], lines, None)


def _big_bench_mistake(index: int, row: Row) -> LabelledSolution | None:
    """None for a row without a marked mistake and with a wrong answer: known noise."""
    mistake = row["mistake_index"]
    if mistake is None and row["answer"] != row["target"]:
        return None
    first = -1 if mistake is None else mistake
    return LabelledSolution(str(index), row["input"], row["steps"], first)


def _champ(index: int, row: Row) -> LabelledSolution:
    """Steps are the lines that are not empty; the first error is marked by its characters."""
    steps: list[str] = []
    first = -1
    at = 0
    for line in row["text"].split("\n"):
        if line.strip():
            start = row["start_idx"]
            if first < 0 and start is not None and at + len(line) > start:
                first = len(steps)
            steps.append(line)
        at += len(line) + 1
    name = f"{row['identifier']} {row['annotation_key']}"
    return LabelledSolution(name, row["question"], steps, first)


def _processbench(index: int, row: Row) -> LabelledSolution:
    return LabelledSolution(row["id"], row["problem"], row["steps"], row["label"])


SOURCES: dict[str, tuple[str, Callable[[int, Row], LabelledSolution | None]]] = {
    "gsm8k_gold": ("gsm8k/questions.jsonl", _gsm8k_gold),
    "big_bench_mistake_arithmetic": (
        "big_bench_mistake/multistep_arithmetic.jsonl",
        _big_bench_mistake,
    ),
    "champ": ("champ/first_wrong_step.jsonl", _champ),
    "processbench_gsm8k": ("processbench/gsm8k.jsonl", _processbench),
    "processbench_math": ("processbench/math.jsonl", _processbench),
    "processbench_olympiadbench": ("processbench/olympiadbench.jsonl", _processbench),
    "processbench_omnimath": ("processbench/omnimath.jsonl", _processbench),
}


def read_source(folder: Path, source: str) -> Iterator[LabelledSolution]:
    """The solutions of one source in the order of its file; rows of known noise are left out."""
    path, reader = SOURCES[source]
    with (folder / path).open(encoding="utf-8") as lines:
        for index, line in enumerate(lines):
            solution = reader(index, json.loads(line))
            if solution is not None:
                yield solution

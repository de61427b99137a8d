"""Writes the labelled data set of a run in a format that somebody's trainer reads.

Steps after the first error are handled by setting; what a format cannot carry is refused row by
row, counted with its reason, and listed. Rows keep their order.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stepmill.errors import UserError
from stepmill.pipelines.exports import benchmarks, trainers  # noqa: F401 - they register formats
from stepmill.pipelines.exports.base import FORMATS, Example, ExportSettings, Format, Refused
from stepmill.pipelines.inspection import scan_rows

TRL_SCHEMA = pa.schema(
    [
        pa.field("prompt", pa.string()),
        pa.field("completions", pa.list_(pa.string())),
        # One type in every file: booleans here and integers there would turn -100 into True.
        pa.field("labels", pa.list_(pa.int64())),
    ]
)
LISTED = 20
"""Refused rows that are named; all are counted."""


@dataclass(slots=True)
class Exported:
    """What an export did."""

    rows: int = 0
    labels: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Rows that the format cannot carry, by reason."""
    refused_ids: list[str] = field(default_factory=list)
    """The first of them, as `id: reason`."""


def export(root: Path | str, name: str, out: Path, settings: ExportSettings) -> Exported:
    """Write the rows of a run to `out`, in the format `name`.

    Raises:
        UserError: no such format or run, soft labels that the format would cut, no row left, or
            `out` cannot be written.
    """
    target = FORMATS[name]
    scan_rows(root)  # says what is wrong when there are none, before anything is made
    result = Exported()
    records = _records(_examples(root, settings), target, result)
    temporary = out.with_name(f".{out.name}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if target.file == "jsonl":
            with temporary.open("w", encoding="utf-8") as file:
                for record in records:
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
        else:
            table = pa.Table.from_pylist(list(records), schema=TRL_SCHEMA)
            pq.write_table(table, temporary, compression="zstd")
        if result.refused["soft-label"]:
            raise UserError(
                f"{root} has soft labels and the format {name} would cut them to 0 or 1; label it"
                f" by a hard rule (stepmill label {root} --rule hard), or give --set threshold=0.5"
            )
        if not result.rows:
            raise UserError(f"no row of {root} can be written as {name}: {dict(result.refused)}")
        temporary.replace(out)
    except OSError as error:
        raise UserError(
            f"{out} cannot be written ({error.strerror or error}); choose another --out"
        ) from None
    finally:
        with suppress(OSError):  # its folder may be a file
            temporary.unlink(missing_ok=True)
    return result


def _records(
    examples: Iterator[Example], target: Format, result: Exported
) -> Iterator[dict[str, Any]]:
    for example in examples:
        try:
            if not target.soft and any(label not in (None, 0, 1) for label in example.labels):
                raise Refused("soft-label")
            record = target.write(example)
        except Refused as refused:
            result.refused[str(refused)] += 1
            if len(result.refused_ids) < LISTED:
                result.refused_ids.append(f"{example.id}: {refused}")
            continue
        result.rows += 1
        result.labels += sum(label is not None for label in example.labels)
        yield record


def _examples(root: Path | str, settings: ExportSettings) -> Iterator[Example]:
    """Rows of the data set as examples, a file at a time."""
    for path in sorted((Path(root) / "data").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(batch_size=1000):
            for row in batch.to_pylist():
                yield example_of(row, settings)


def example_of(row: Mapping[str, Any], settings: ExportSettings) -> Example:
    """A canonical row with the labels that `settings` ask for."""
    steps, first = row["steps"], row["first_error"]
    labels = [_label(step, settings.threshold) for step in steps]
    if first is not None and first >= 0:
        match settings.after_error:
            case "truncate":
                steps, labels = steps[: first + 1], labels[: first + 1]
            case "mask":
                labels[first + 1 :] = [None] * (len(labels) - first - 1)
            case "zero":
                labels[first + 1 :] = [0] * (len(labels) - first - 1)
    provenance = row["provenance"] or {}
    return Example(
        id=row["id"],
        prompt=row["prompt"],
        steps=tuple(step["text"].strip() for step in steps),
        labels=tuple(labels),
        first_error=first,
        reference_answer=row["reference_answer"],
        final_answer=row["final_answer"],
        final_correct=row["final_correct"],
        generator=(provenance.get("generator") or {}).get("model") or "",
        source=row["source"],
        row=row,
    )


def _label(step: Mapping[str, Any], threshold: float | None) -> float | None:
    hard: int | None = step["hard_label"]
    if hard is not None:
        return hard
    soft: float | None = step["soft_label"]
    if soft is None or threshold is None:
        return soft
    return int(soft >= threshold)

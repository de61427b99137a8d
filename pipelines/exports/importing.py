"""Reads foreign labelled files into a run directory, so that they are inspected and exported alike.

An imported directory has `run.yaml` and `data/`, and no evidence: its labels are what the file
says, their source `human`, or `rollout` where the format is known to hold rollout labels. A label
that the file does not have stays null.
"""

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

import stepmill
from stepmill.errors import UserError
from stepmill.pipelines.exports import benchmarks, trainers  # noqa: F401 - they register formats
from stepmill.pipelines.exports.base import FORMATS, Imported
from stepmill.pipelines.parquet import write_table_atomic
from stepmill.pipelines.schema import DATASET_SCHEMA
from stepmill.records import LabelKind, Verdict, problem_id, solution_id

SOURCES = {"math-shepherd": "rollout"}
"""Where the labels of a format come from, when not from people."""


def import_file(path: Path, name: str, out: Path) -> int:
    """Read `path`, in the format `name`, into the new run directory `out`; returns the rows.

    Raises:
        UserError: no such file, a format that cannot be read back, a line that does not fit, or
            `out` exists.
    """
    read = FORMATS[name].read
    if read is None:
        able = ", ".join(n for n in FORMATS if FORMATS[n].read is not None)
        raise UserError(f"the format {name} cannot be read back; use one of: {able}")
    if out.exists():
        raise UserError(f"{out} exists; choose another --out")
    rows = []
    for number, record in _records(path):
        try:
            rows += [canonical_row(item, name) for item in read([record])]
        except KeyError as error:
            raise UserError(f"{path}, line {number}: not a row of {name}: no {error}") from None
        except (TypeError, IndexError, AttributeError) as error:
            raise UserError(f"{path}, line {number}: not a row of {name}: {error}") from None
    if not rows:
        raise UserError(f"{path} holds no row")
    try:
        table = pa.Table.from_pylist(rows, schema=DATASET_SCHEMA)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise UserError(f"{path}: a value is none that {name} has: {error}") from None
    try:
        (out / "data").mkdir(parents=True)
    except OSError as error:
        raise UserError(
            f"{out} cannot be written ({error.strerror}); choose another --out"
        ) from None
    write_table_atomic(out / "data" / "train-00000-of-00001.parquet", table)
    facts = {
        "name": out.name,
        "imported": {"file": str(path), "format": name, "rows": len(rows)},
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "versions": {"stepmill": stepmill.__version__},
    }
    (out / "run.yaml").write_text(yaml.safe_dump(facts, sort_keys=False), encoding="utf-8")
    return len(rows)


def _records(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 ({error.reason})") from None
    found = []
    for number, line in enumerate(text.split("\n"), 1):  # some texts hold other line separators
        if not line.strip():
            continue
        try:
            found.append((number, json.loads(line)))
        except json.JSONDecodeError as error:
            raise UserError(f"{path}, line {number}: not JSON: {error.msg}") from None
    return found


def canonical_row(item: Imported, name: str) -> dict[str, Any]:
    """One imported solution as a row of the data set."""
    text = "".join(item.steps)
    problem = problem_id(item.prompt, item.reference_answer)
    correct = item.final_correct
    outcome = {True: Verdict.CORRECT, False: Verdict.INCORRECT, None: Verdict.UNKNOWN}[correct]
    source, start, steps = SOURCES.get(name, "human"), 0, []
    for i, (step, label, rating) in enumerate(
        zip(item.steps, item.labels, item.ratings, strict=True)
    ):
        after = item.first_error is not None and 0 <= item.first_error < i
        steps.append(
            {
                "index": i,
                "text": step,
                "char_start": start,
                "char_end": start + len(step),
                "hard_label": label,
                "rating": rating,
                "label_source": "" if label is None else source,
                "label_reason": _reason(label, rating, after=after),
                "after_error": after,
                "stop_reason": "",
                "judge_votes": [],
                "verifier_verdicts": [],
            }
        )
        start += len(step)
    return {
        "id": solution_id(problem, text),
        "problem_id": problem,
        "source": item.source,
        "domain": "",
        "license": "",
        "prompt": item.prompt,
        "reference_answer": item.reference_answer,
        "solution": text,
        "final_correct": correct,
        "outcome": outcome,
        "outcome_reason": "given" if correct is not None else "not-given",
        "origin": "given",
        "simulated": False,
        "label_kind": LabelKind.VALUE if name == "math-shepherd" else LabelKind.VALIDITY,
        "label_rule": json.dumps({"rule": "given", "format": name}),
        "first_error": item.first_error,
        "n_steps": len(steps),
        "steps": steps,
        "provenance": {"generator": {"model": item.generator}},
    }


def _reason(label: int | None, rating: int | None, *, after: bool) -> str:
    if label is not None:
        return ""
    if rating == 0:
        return "neutral"
    return "after-error" if after else "not-given"

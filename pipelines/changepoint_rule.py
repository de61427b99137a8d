"""Label rule `change-point`: the most probable first error, given all counts of a solution.

It reads the counts of any search: what every-step, binary or omegaprm left is read again for the
place at which the success rate falls, with each prefix's draws weighed by how much they say. The
model is that of annotators/changepoint_model.py; its weights are learned from the run's own counts.
Label conventions are those of rollout_rules.py. Nothing here draws anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from stepmill.annotators.changepoint_model import (
    DEFAULT,
    MAX_STEPS,
    MISFIT,
    Array,
    Belief,
    Weights,
    fit,
)
from stepmill.pipelines.rollout_rules import rate
from stepmill.pipelines.step_grid import Labels, by_solution, step_grid
from stepmill.records import LabelKind, Verdict
from stepmill.settings import Settings

_TEACHERS = 2000
"""Solutions that weights are learned from at most: those with the lowest ids, which are hashes."""


class ChangePointRule(Settings):
    """The place of the first error by the posterior over all places."""

    rule: Literal["change-point"] = "change-point"
    """Hard labels, and soft ones: the probability that no step up to this one is wrong."""
    confidence: float = Field(default=0.8, gt=0.5, lt=1)
    """A place this probable is the first error; a step this probably right is good. All else has
    no hard label, the reason being `unsure`."""
    learn: bool = True
    """Learn from the run's counts how common which skill, self-correction and rise along a right
    prefix are. Otherwise broad weights are used."""
    after_error: Literal["mask", "zero"] = "mask"
    """Labels after the first error. `mask`: none. `zero`: bad."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A row of `Labels.steps`, without its key."""

    hard: int | None
    soft: float | None
    confidence: float | None
    source: str
    reason: str
    after_error: bool = False


def change_point_labels(
    solutions: pl.DataFrame, evidence: pl.DataFrame, settings: ChangePointRule
) -> Labels:
    """Labels of kind `validity`; arguments as for `step_grid`.

    For a wrong solution, `soft` of a step is P(first error after it). `confidence` of a good step
    is the same, that of the first error its own probability. A right final answer makes all steps
    good, as with the other rules. No label: `outcome-unknown`; `not-probed` (no known draw from any
    prefix); `misfit` (the counts do not follow one change); `too-long` (more than MAX_STEPS
    steps); `unsure`.
    """
    grid = step_grid(solutions, evidence)
    groups = [group.to_dicts() for group in grid.partition_by("row", maintain_order=True)]
    weights = _learned(groups) if settings.learn else DEFAULT
    labelled = [_label(rows, weights, settings) for rows in groups]
    steps = [step for _, found in labelled for step in found]
    frame = grid.select(
        "solution_id",
        "step",
        kind=pl.lit(LabelKind.VALIDITY.value),
        hard=pl.Series([s.hard for s in steps], dtype=pl.Int8),
        soft=pl.Series([s.soft for s in steps], dtype=pl.Float64),
        confidence=pl.Series([s.confidence for s in steps], dtype=pl.Float64),
        source=pl.Series([s.source for s in steps], dtype=pl.String),
        reason=pl.Series([s.reason for s in steps], dtype=pl.String),
        after_error=pl.Series([s.after_error for s in steps], dtype=pl.Boolean),
    )
    places = pl.DataFrame(
        {
            "row": [rows[0]["row"] for rows in groups],
            "first_error": [place for place, _ in labelled],
        },
        schema={"row": pl.UInt32, "first_error": pl.Int32},
    )
    per_solution = (
        by_solution(solutions, evidence)
        .join(places, on="row", how="left")
        .sort("row")
        .select(
            "solution_id",
            "first_error",
            c_0="c_0",
            k_0="k_0",
            value_0=rate("c_0", "k_0", "stop_reason_0"),
        )
    )
    return Labels(frame, per_solution)


def _learned(groups: list[list[dict[str, Any]]]) -> Weights:
    counted = {
        rows[0]["solution_id"]: _counts(rows)
        for rows in groups
        if rows[0]["verdict"] == Verdict.INCORRECT.value
    }
    probed = sorted(name for name, counts in counted.items() if counts[1:].any())
    return fit([counted[name] for name in probed[:_TEACHERS]])


def _counts(rows: list[dict[str, Any]]) -> NDArray[np.int64]:
    """(n, 2): right and wrong draws at each prefix of a solution of n steps."""
    by_prefix = [(rows[0]["c_0"], rows[0]["k_0"]), *((row["c"], row["k"]) for row in rows[:-1])]
    return np.array([(c or 0, (k or 0) - (c or 0)) for c, k in by_prefix])


def _label(
    rows: list[dict[str, Any]], weights: Weights, settings: ChangePointRule
) -> tuple[int | None, list[_Step]]:
    """The first error of one solution (-1: none) and its steps' labels."""
    n, verdict = len(rows), rows[0]["verdict"]
    if verdict == Verdict.CORRECT.value:
        good = _Step(1, 1.0, None, "inferred", "")
        return -1, [good] * (n - 1) + [_Step(1, 1.0, 1.0, "outcome", "")]
    if verdict != Verdict.INCORRECT.value:
        return None, [_unknown("outcome-unknown")] * n
    if n > MAX_STEPS:
        return None, [_unknown("too-long")] * n
    counts = _counts(rows)
    if n > 1 and not counts[1:].any():
        return None, [_unknown("not-probed")] * n
    belief = Belief.of(counts, weights)
    if belief.support() < MISFIT:
        return None, [_unknown("misfit")] * n
    places = belief.places()
    place = int(places.argmax())
    found = place if places[place] >= settings.confidence else None
    return found, list(_steps(places, found, settings))


def _unknown(reason: str) -> _Step:
    return _Step(None, None, None, "", reason)


def _steps(places: Array, found: int | None, settings: ChangePointRule) -> Iterator[_Step]:
    """Labels of a wrong solution from its posterior."""
    later = 1 - np.cumsum(places)
    for t, share in enumerate(np.clip(later, 0, 1).tolist()):
        if found is not None and t > found:
            if settings.after_error == "mask":
                yield replace(_unknown("after-error"), after_error=True)
            else:
                yield _Step(0, 0.0, None, "inferred", "", after_error=True)
        elif t == found:
            yield _Step(0, share, float(places[t]), "rollout", "")
        elif share >= settings.confidence:
            yield _Step(1, share, share, "rollout", "")
        else:
            yield _Step(None, share, None, "rollout", "unsure")

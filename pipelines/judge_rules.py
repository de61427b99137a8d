"""Label rules without rollouts: what most of a judge's votes say, or the outcome for every step.

Sources: the judge's majority on the first error is half of the consensus of Zhang et al., 2025 (The
Lessons of Developing PRMs), and VersaPRM's and AURORA's labels; FreePRM gives every step the
outcome of its solution. `first_error_labels` turns a first error into labels for every rule that
rests on one.
"""

from typing import Literal

import polars as pl

from stepmill.pipelines.judge_votes import Majority, opinions
from stepmill.pipelines.rollout_rules import rate
from stepmill.pipelines.step_grid import Labels, by_solution, step_grid
from stepmill.records import LabelKind, Verdict
from stepmill.settings import Settings


class JudgeRule(Settings):
    """Right or wrong, per step, as most votes have it."""

    rule: Literal["judge"] = "judge"
    """The judge alone."""
    majority: Majority = Majority()
    """When votes make an opinion."""
    after_error: Literal["mask", "zero"] = "mask"
    """Labels after the first bad step. `mask`: none. `zero`: bad, as in VersaPRM."""


class OutcomeRule(Settings):
    """The verdict on the final answer, for every step alike."""

    rule: Literal["outcome"] = "outcome"
    """No evidence about steps is needed, and none is used. A wrong answer makes every step bad,
    which is false for the ones before the first error: train with a loss that allows for it."""


def judge_labels(solutions: pl.DataFrame, evidence: pl.DataFrame, settings: JudgeRule) -> Labels:
    """Hard labels of kind `validity`; arguments as for `step_grid`.

    The confidence is the share of the votes that name the first error.
    """
    found = opinions(solutions, evidence, settings.majority)
    grid = step_grid(solutions, evidence).join(found, on="solution_id", how="left")
    grid = first_error_labels(grid.with_columns(error="opinion"), settings.after_error)
    grid = grid.with_columns(
        source=pl.when("after_error").then(pl.lit("inferred")).otherwise(pl.lit("judge")),
        confidence=pl.when(~pl.col("after_error")).then("share"),
        why=no_opinion(),
    )
    return finished(solutions, evidence, grid)


def no_opinion() -> pl.Expr:
    """Why votes make no opinion, from what `opinions` gave."""
    return (
        pl.when(pl.col("n_votes").is_null())
        .then(pl.lit("no-votes"))
        .otherwise(pl.lit("votes-undecided"))
    )


def outcome_labels(
    solutions: pl.DataFrame, evidence: pl.DataFrame, settings: OutcomeRule
) -> Labels:
    """Hard labels of kind `validity`; arguments as for `step_grid`.

    The first error of a wrong solution stays unknown: the outcome does not say where it is.
    """
    grid = step_grid(solutions, evidence)
    by_answer = {Verdict.CORRECT.value: 1, Verdict.INCORRECT.value: 0}
    outcome = pl.col("verdict").replace_strict(by_answer, default=None, return_dtype=pl.Int8)
    grid = grid.with_columns(
        hard=outcome,
        error=pl.when(outcome == 1).then(-1).cast(pl.Int32),
        after_error=pl.lit(False),
        source=pl.lit("outcome"),
        confidence=pl.lit(None, pl.Float64),
        why=pl.lit("outcome-unknown"),
    )
    return finished(solutions, evidence, grid)


def first_error_labels(
    grid: pl.DataFrame, after: Literal["mask", "zero", "measured"]
) -> pl.DataFrame:
    """Add `hard` and `after_error` to a step grid with the first error of its solution.

    Args:
        grid: `step`, `error` (-1: none; null: unknown, which gives no label) and, for `measured`,
            `measured`, the label of the step's own rollouts.
        after: labels after the first error.
    """
    error, step = pl.col("error"), pl.col("step")
    later = {"mask": pl.lit(None), "zero": pl.lit(0), "measured": pl.col("measured")}[after]
    after_error = (error >= 0) & (step > error)
    hard = (
        pl.when(error.is_null())
        .then(None)
        .when(after_error)
        .then(later)
        .when(step == error)
        .then(0)
        .otherwise(1)
    )
    return grid.with_columns(hard=hard.cast(pl.Int8), after_error=after_error.fill_null(False))


def finished(solutions: pl.DataFrame, evidence: pl.DataFrame, grid: pl.DataFrame) -> Labels:
    """Labels in their final shape.

    Args:
        solutions: as for `step_grid`.
        evidence: likewise.
        grid: a step grid with `hard`, `error`, `after_error`, `source` and `confidence` (of steps
            that have a label), and `why` (for those that have none, unless they are after an
            error). A column `left_out` says why a solution is to be left out; null: it is not.
    """
    none = pl.col("hard").is_null()
    steps = grid.select(
        "solution_id",
        "step",
        kind=pl.lit(LabelKind.VALIDITY.value),
        hard="hard",
        soft=pl.lit(None, pl.Float64),
        confidence=pl.when(~none).then("confidence").cast(pl.Float64),
        source=pl.when(none).then(pl.lit("")).otherwise("source"),
        reason=pl.when(~none)
        .then(pl.lit(""))
        .when("after_error")
        .then(pl.lit("after-error"))
        .otherwise("why"),
        after_error="after_error",
    )
    known = [name for name in ("error", "left_out") if name in grid.columns]
    found = grid.group_by("solution_id").agg(pl.col(name).first() for name in known)
    whole = (
        by_solution(solutions, evidence)
        .join(found, on="solution_id", how="left")
        .sort("row")
        .with_columns(
            first_error=pl.col("error").cast(pl.Int32),
            value_0=rate("c_0", "k_0", "stop_reason_0"),
        )
    )
    names = ["solution_id", "first_error", "c_0", "k_0", "value_0"]
    return Labels(steps, whole.select(*names, *(n for n in known if n == "left_out")))

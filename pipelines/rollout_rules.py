"""Label rules over rollout counts: hard (is the step right) and soft (how likely does it end well).

Sources: Math-Shepherd (Wang et al., 2024: any success, or the share of successes); EpicPRM and
UnPRM (below a share of the problem's own rate); SORM (Havrilla et al., 2024: a success proves all
earlier steps). What every rule here shares:

- The last step is decided by the check of the final answer; rollouts say nothing of it.
- A prefix that still ends right proves that the steps before it could. So a step that nobody
  probed is good, its source `inferred`, if a later prefix is alive or the final answer is right.
- The first error is the first dead prefix, if all before it are alive. If one of them is unknown,
  it is unknown. What was probed in vain stays unknown; only `monotone: repair` overrules it.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import polars as pl
from pydantic import Field

from stepmill.annotators.posterior import probability_above
from stepmill.annotators.rollouts import AliveSettings, Tally
from stepmill.pipelines.step_grid import Labels, by_solution, step_grid
from stepmill.records import LabelKind, Verdict
from stepmill.settings import Settings

TOO_FEW = "too-few-known"
"""Stop reason of a prefix with too few known outcomes to decide (annotators/rollouts.py)."""
UNBIASED_STOPS = ("fixed", TOO_FEW)
"""Stop reasons that do not depend on which draws were right; any other makes c / k biased."""


class RolloutRule(Settings):
    """What the rules over rollouts have in common."""

    after_error: Literal["mask", "zero", "measured"] = "mask"
    """Labels after the first bad step. `mask`: none. `zero`: bad, whatever was measured.
    `measured`: what their own rollouts say; none for those that were not probed."""
    monotone: Literal["none", "repair"] = "none"
    """`repair`: a later success overrules an earlier failure. A hard label is good if any later
    prefix is alive or the final answer right (SORM). A soft label is the largest value at or after
    its step; the final answer, which would lift all to 1, does not count."""


class HardRule(RolloutRule):
    """1 where the prefix is alive, 0 where it is dead."""

    rule: Literal["hard"] = "hard"
    """Right or wrong, per step."""
    alive: AliveSettings = AliveSettings()
    """When a prefix counts as alive. Where rollouts were stopped early, take the rule they were
    stopped by, or `any`: shares are biased then."""
    negligible: float = Field(default=0.1, gt=0, lt=1)
    """Only for the confidence of labels by `any`: a success rate below this counts as none."""


class SoftRule(RolloutRule):
    """The chance of ending right, as measured."""

    rule: Literal["soft"] = "soft"
    """A value in [0, 1] per step. A step that was not probed has none, even where it is known to
    be good."""
    smooth: Literal["auto", "always", "never"] = "auto"
    """When to take (c + 1) / (k + 2), the mean under a uniform prior, for c / k. `auto`: where the
    draws were stopped by what they showed, since c / k is biased then."""


def hard_labels(solutions: pl.DataFrame, evidence: pl.DataFrame, settings: HardRule) -> Labels:
    """Hard labels of kind `validity`; arguments as for `step_grid`.

    The confidence of a label from rollouts is the posterior probability that the success rate lies
    on the label's side of the threshold, under a uniform prior: P(X <= c) for a living prefix, with
    X ~ Binomial(k + 1, threshold), and 1 minus that for a dead one. The threshold is the rule's
    own; with `relative`, the measured rate of the problem is taken as exact. It is 1 for labels
    from the final answer, and null for inferred ones, which rest on an assumption.
    """
    grid = step_grid(solutions, evidence)
    tests = [*map(_hard_test(settings), grid.iter_rows(named=True))]
    grid = grid.with_columns(
        alive=pl.Series([alive for alive, _ in tests], dtype=pl.Boolean),
        above=pl.Series([above for _, above in tests], dtype=pl.Float64),
    )
    grid = _settle(grid, settings, outcome_repairs=True)
    own = pl.col("alive").cast(pl.Int8)
    grid = _finish(grid, settings, own, before_error=pl.col("settled").cast(pl.Int8))
    side = pl.when(pl.col("label") == 1).then("above").otherwise(1 - pl.col("above"))
    confidence = (
        pl.when(pl.col("source") == "outcome")
        .then(1.0)
        .when(pl.col("source") == "rollout")
        .then(side)
    )
    return _labels(
        solutions,
        evidence,
        grid,
        kind=LabelKind.VALIDITY,
        hard=pl.col("label"),
        soft=pl.lit(None, pl.Float64),
        confidence=confidence,
    )


def soft_labels(solutions: pl.DataFrame, evidence: pl.DataFrame, settings: SoftRule) -> Labels:
    """Soft labels of kind `value`; arguments as for `step_grid`.

    The first error is the first prefix without any success.
    """
    few = pl.col("stop_reason") == TOO_FEW
    alive = pl.when(pl.col("c") > 0).then(True).when(~few).then(False)
    grid = step_grid(solutions, evidence).with_columns(alive=alive)
    grid = _settle(grid, settings, outcome_repairs=False)
    value = rate("c", "k", "stop_reason", settings.smooth)
    outcome = pl.col("alive").cast(pl.Float64)
    grid = grid.with_columns(own=pl.when("is_last").then(outcome).otherwise(value))
    before_error = pl.col("own")
    if settings.monotone == "repair":
        largest = pl.when(~pl.col("is_last")).then("own").cum_max(reverse=True).over("row")
        before_error = (
            pl.when(pl.col("own").is_null()).then(None).otherwise(pl.coalesce(largest, "own"))
        )
    grid = _finish(grid, settings, pl.col("own"), before_error)
    return _labels(
        solutions,
        evidence,
        grid,
        kind=LabelKind.VALUE,
        hard=pl.lit(None, pl.Int8),
        soft=pl.col("label"),
        confidence=pl.lit(None, pl.Float64),
    )


def rate(c: str, k: str, stop_reason: str, smooth: str = "auto") -> pl.Expr:
    """Estimate of a success rate from the named columns, in [0, 1]; null where k is 0 or null."""
    plain = pl.col(c) / pl.col(k)
    smoothed = (pl.col(c) + 1) / (pl.col(k) + 2)
    biased = {
        "auto": ~pl.col(stop_reason).is_in(UNBIASED_STOPS),
        "always": pl.lit(True),
        "never": pl.lit(False),
    }
    return pl.when(pl.col(k) > 0).then(pl.when(biased[smooth]).then(smoothed).otherwise(plain))


def _hard_test(
    settings: HardRule,
) -> Callable[[dict[str, Any]], tuple[bool | None, float | None]]:
    """A function from a grid row to (alive, P(success rate > threshold)); None: not known."""

    @cache
    def test(
        c: int, k: int, c_0: int | None, k_0: int | None, few: bool
    ) -> tuple[bool | None, float]:
        root = Tally(c_0 or 0, k_0 or 0)
        share = {
            "any": settings.negligible,
            "fraction": settings.alive.threshold,
            # Without a rate to relate to, `AliveSettings.needed` falls back to `any`.
            "relative": settings.alive.threshold * (root.rate or 0) or settings.negligible,
        }[settings.alive.by]
        alive = c >= settings.alive.needed(k, root)
        # Of too few known draws, a success still is one; its absence, or a share, says nothing.
        sure = not few or (alive and settings.alive.by == "any")
        return alive if sure else None, probability_above(share, c, k)

    def test_row(row: dict[str, Any]) -> tuple[bool | None, float | None]:
        if not row["k"]:
            return None, None
        few = row["stop_reason"] == TOO_FEW
        return test(row["c"], row["k"], row["c_0"], row["k_0"], few)

    return test_row


def _settle(grid: pl.DataFrame, settings: RolloutRule, *, outcome_repairs: bool) -> pl.DataFrame:
    """From what each step shows by itself to what the whole solution shows.

    Args:
        grid: a step grid with `alive` (null: the rollouts do not say).
        settings: the rule.
        outcome_repairs: whether `repair` lets a right final answer overrule dead prefixes.

    Returns:
        The grid with `alive` of the last step put in, `reason` (why `alive` is null), `settled`
        (`alive` after inference and repair), `first_dead` (per solution) and `after_error`.
    """
    by_answer = {Verdict.CORRECT.value: True, Verdict.INCORRECT.value: False}
    answer = pl.col("verdict").replace_strict(by_answer, default=None, return_dtype=pl.Boolean)
    no_draw = pl.col("k") + pl.col("n_truncated") + pl.col("n_unknown") == 0
    reason = (
        pl.when(pl.col("alive").is_not_null())
        .then(pl.lit(""))
        .when("is_last")
        .then(pl.lit("outcome-unknown"))
        .when(pl.col("k").is_null() | no_draw)
        .then(pl.lit("not-probed"))
        .when(pl.col("k") > 0)
        .then(pl.lit(TOO_FEW))
        .when(pl.col("n_unknown") == 0)
        .then(pl.lit("truncated"))
        .otherwise(pl.lit("rollouts-unknown"))
    )
    known = pl.when(pl.col("k") > 0).then("alive")
    grid = grid.with_columns(alive=pl.when("is_last").then(answer).otherwise(known))
    grid = grid.with_columns(reason=reason)
    proven = _any_later(pl.col("alive")) & (pl.col("reason") == "not-probed")
    if settings.monotone == "repair":
        proof = pl.col("alive") if outcome_repairs else pl.col("alive") & ~pl.col("is_last")
        proven |= _any_later(proof)
    grid = grid.with_columns(settled=pl.when(proven).then(True).otherwise("alive"))
    first_dead = pl.col("step").filter(~pl.col("settled")).min().over("row")
    grid = grid.with_columns(first_dead=first_dead)
    return grid.with_columns(after_error=(pl.col("step") > pl.col("first_dead")).fill_null(False))


def _any_later(flag: pl.Expr) -> pl.Expr:
    """Whether `flag` is true at any later step of the same solution."""
    number = flag.fill_null(False).cast(pl.Int32)
    return (number.cum_sum(reverse=True) - number).over("row") > 0


def _finish(
    grid: pl.DataFrame, settings: RolloutRule, own: pl.Expr, before_error: pl.Expr
) -> pl.DataFrame:
    """Add `label`, its `source`, and the final `reason` of those that have none.

    Args:
        grid: what `_settle` gave.
        settings: the rule.
        own: what the step's own evidence says, as a label.
        before_error: the label up to and including the first bad step.
    """
    after = {"mask": pl.lit(None), "zero": pl.lit(0), "measured": own}[settings.after_error]
    label = pl.when("after_error").then(after).otherwise(before_error)
    grid = grid.with_columns(label=label, own=own)
    unlabelled = pl.col("label").is_null()
    source = (
        pl.when(unlabelled)
        .then(pl.lit(""))
        .when((pl.col("label") != pl.col("own")).fill_null(True))
        .then(pl.lit("inferred"))
        .when("is_last")
        .then(pl.lit("outcome"))
        .otherwise(pl.lit("rollout"))
    )
    passed_over = pl.lit(settings.after_error == "mask") | (pl.col("reason") == "not-probed")
    reason = (
        pl.when(~unlabelled)
        .then(pl.lit(""))
        .when(pl.col("after_error") & passed_over)
        .then(pl.lit("after-error"))
        .otherwise("reason")
    )
    return grid.with_columns(source=source, reason=reason)


def _labels(
    solutions: pl.DataFrame,
    evidence: pl.DataFrame,
    grid: pl.DataFrame,
    *,
    kind: LabelKind,
    hard: pl.Expr,
    soft: pl.Expr,
    confidence: pl.Expr,
) -> Labels:
    """The result in its final shape, from what `_finish` gave."""
    steps = grid.select(
        "solution_id",
        "step",
        kind=pl.lit(kind.value),
        hard=hard.cast(pl.Int8),
        soft=soft.cast(pl.Float64),
        confidence=confidence,
        source="source",
        reason="reason",
        after_error="after_error",
    )
    before = pl.col("first_dead").is_null() | (pl.col("step") < pl.col("first_dead"))
    found = grid.group_by("row").agg(
        pl.col("first_dead").first(),
        n_steps=pl.len(),
        n_good=(pl.col("settled").fill_null(False) & before).sum(),
    )
    first_error = (
        pl.when(pl.col("n_good") == pl.col("first_dead"))
        .then("first_dead")
        .when(pl.col("first_dead").is_null() & (pl.col("n_good") == pl.col("n_steps")))
        .then(-1)
    )
    per_solution = (
        by_solution(solutions, evidence)
        .join(found, on="row", how="left")
        .sort("row")
        .select(
            "solution_id",
            first_error=first_error.cast(pl.Int32),
            c_0="c_0",
            k_0="k_0",
            value_0=rate("c_0", "k_0", "stop_reason_0"),
        )
    )
    return Labels(steps, per_solution)

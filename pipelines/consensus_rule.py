"""The label rule `consensus`: channels must agree on the first error; a proof overrules them.

Source: consensus filtering of Zhang et al., 2025 (The Lessons of Developing Process Reward Models):
a solution is kept only where rollouts and the judge agree on the place of the first error, or both
find none; steps after it are dropped.

A verifier's verdict `incorrect` on a step (channels `verifier:…`) is a proof, not an opinion: the
step is bad, and no first error lies behind it. An opinion that there is none, or a later one, then
counts as agreement with the proof, where it also calls the steps before it good. A verdict
`correct` proves less, since a step may be computed rightly and still be the wrong thing to do; it
is not used.
"""

from typing import Annotated, Literal

import polars as pl
from pydantic import Discriminator, Field, Tag, field_validator

from stepmill.pipelines.changepoint_rule import ChangePointRule, change_point_labels
from stepmill.pipelines.judge_rules import finished, first_error_labels, no_opinion
from stepmill.pipelines.judge_votes import Majority, opinions
from stepmill.pipelines.rollout_rules import HardRule, hard_labels
from stepmill.pipelines.step_grid import Labels, step_grid
from stepmill.records import Verdict
from stepmill.settings import Settings

VERIFIERS = "verifier:"
"""Beginning of the channels of verifiers."""

Channel = Literal["rollouts", "judge"]


def _which(value: object) -> str:
    rule = value.get("rule", "hard") if isinstance(value, dict) else getattr(value, "rule", None)
    return str(rule)


class ConsensusRule(Settings):
    """Right or wrong, per step, where the channels agree on the first error."""

    rule: Literal["consensus"] = "consensus"
    """Agreement of channels on the first error."""
    channels: tuple[Channel, ...] = Field(default=("rollouts", "judge"), min_length=1)
    """Who must agree. With one channel alone the rule is that channel's, corrected by proofs."""
    rollouts: Annotated[
        Annotated[HardRule, Tag("hard")] | Annotated[ChangePointRule, Tag("change-point")],
        Discriminator(_which),
    ] = HardRule()
    """How rollouts find the first error: rule `hard` or `change-point`. Its `after_error` is not
    used."""
    majority: Majority = Majority()
    """When a judge's votes make an opinion."""
    proofs: bool = True
    """Let steps that a verifier has proven false overrule opinions."""
    disagreement: Literal["unknown", "drop"] = "unknown"
    """Solutions without agreement. `unknown`: kept without labels, but for a proven false step.
    `drop`: left out of the data set, and counted by reason."""
    after_error: Literal["mask", "zero", "measured"] = "mask"
    """Labels after the first bad step. `mask`: none. `zero`: bad, whatever was measured.
    `measured`: what their own rollouts say; none for those that were not probed, and none by rule
    `change-point`, which says nothing of them."""

    @field_validator("channels")
    @classmethod
    def _distinct(cls, channels: tuple[Channel, ...]) -> tuple[Channel, ...]:
        if len(set(channels)) < len(channels):
            raise ValueError("names a channel twice")
        return channels


def consensus_labels(
    solutions: pl.DataFrame, evidence: pl.DataFrame, settings: ConsensusRule
) -> Labels:
    """Hard labels of kind `validity`; arguments as for `step_grid`.

    The confidence is that of the least sure channel; 1 for a proven step. Sources: `tool` for a
    proven step, `consensus` for one that several channels agree on, else the channel's own.
    """
    grid = _with_channels(solutions, evidence, settings)
    opinions_of = {"rollouts": pl.col("by_rollouts"), "judge": pl.col("by_judge")}
    wanted = [opinions_of[channel] for channel in settings.channels]
    known = pl.all_horizontal(opinion.is_not_null() for opinion in wanted)
    agreed = pl.all_horizontal(opinion == wanted[0] for opinion in wanted)
    missing = {"rollouts": pl.lit("rollouts-undecided"), "judge": no_opinion()}
    why = pl.coalesce(
        *(pl.when(opinions_of[c].is_null()).then(missing[c]) for c in settings.channels),
        pl.lit("channels-disagree"),
    )
    grid = grid.with_columns(error=pl.when(known & agreed).then(wanted[0]), why=why)
    proven = (pl.col("step") == pl.col("proof")).fill_null(False)
    lone = pl.col("error").is_null()
    left_out = pl.when(lone).then("why") if settings.disagreement == "drop" else pl.lit(None)
    grid = first_error_labels(grid, settings.after_error).with_columns(
        hard=pl.when(lone & proven).then(0).otherwise("hard").cast(pl.Int8),
        after_error=pl.when(lone)
        .then((pl.col("step") > pl.col("proof")).fill_null(False))
        .otherwise("after_error"),
        left_out=left_out.cast(pl.String),
    )
    return finished(solutions, evidence, _with_sources(grid, proven, settings))


def _with_channels(
    solutions: pl.DataFrame, evidence: pl.DataFrame, settings: ConsensusRule
) -> pl.DataFrame:
    """The step grid with what each channel says.

    Columns: `proof` (first proven false step, or null), `by_rollouts` and `by_judge` (first error
    in view of the proof, -1: none, null: unknown), `n_votes`, `share`, and of each step's rollouts
    `measured`, `measured_source` and `measured_confidence`.
    """
    if isinstance(settings.rollouts, ChangePointRule):
        rollouts = change_point_labels(solutions, evidence, settings.rollouts)
    else:
        rule = settings.rollouts.model_copy(update={"after_error": "measured"})
        rollouts = hard_labels(solutions, evidence, rule)
    measured = rollouts.steps.select(
        "solution_id",
        "step",
        measured="hard",
        measured_source="source",
        measured_confidence="confidence",
    )
    grid = (
        step_grid(solutions, evidence)
        .join(measured, on=["solution_id", "step"], how="left")
        .join(rollouts.solutions.select("solution_id", "first_error"), on="solution_id", how="left")
        .join(opinions(solutions, evidence, settings.majority), on="solution_id", how="left")
        .join(_proofs(evidence, settings), on="solution_id", how="left")
        .sort("row", "step")
    )
    proof = pl.col("proof")
    bad_before = (pl.col("measured") != 1).fill_null(True) & (pl.col("step") < proof)
    good_before = ~bad_before.any().over("row")
    return grid.with_columns(
        by_rollouts=_in_view_of(proof, pl.col("first_error"), good_before),
        by_judge=_in_view_of(proof, pl.col("opinion"), pl.lit(False)),
    )


def _in_view_of(proof: pl.Expr, error: pl.Expr, good_before: pl.Expr) -> pl.Expr:
    """A channel's first error, moved to the proven false step where it is later or none.

    Args:
        proof: first proven false step; null where there is none.
        error: what the channel says by itself; null: unknown.
        good_before: whether a channel without a first error calls all steps before the proof good.
    """
    later = (error == -1) | (error > proof) | (error.is_null() & good_before)
    return pl.when(proof.is_not_null() & later).then(proof).otherwise(error)


def _proofs(evidence: pl.DataFrame, settings: ConsensusRule) -> pl.DataFrame:
    """First proven false step of each solution that has one."""
    proofs = evidence.filter(
        pl.lit(settings.proofs),
        pl.col("channel").str.starts_with(VERIFIERS),
        pl.col("verdict") == Verdict.INCORRECT.value,
        pl.col("step") >= 0,
    )
    return proofs.group_by("solution_id").agg(proof=pl.col("step").min())


def _with_sources(grid: pl.DataFrame, proven: pl.Expr, settings: ConsensusRule) -> pl.DataFrame:
    """Add `source` and `confidence` of the labels; `proven` marks proven false steps."""
    by_itself = {"rollouts": pl.col("measured_source"), "judge": pl.lit("judge")}
    confidences = {"rollouts": pl.col("measured_confidence"), "judge": pl.col("share")}
    several = len(settings.channels) > 1
    own = pl.lit("consensus") if several else by_itself[settings.channels[0]]
    after = {
        "mask": pl.lit(""),
        "zero": pl.lit("inferred"),
        "measured": pl.col("measured_source"),
    }[settings.after_error]
    later = pl.col("after_error")
    measured = pl.lit(settings.after_error == "measured") & later
    return grid.with_columns(
        source=pl.when(proven & ~later).then(pl.lit("tool")).when(later).then(after).otherwise(own),
        confidence=pl.when(proven & ~later)
        .then(1.0)
        .when(measured)
        .then("measured_confidence")
        .when(~later)
        .then(pl.min_horizontal(*(confidences[c] for c in settings.channels))),
    )

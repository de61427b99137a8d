"""What every label rule over rollouts starts from: one row per step, with its counts.

Evidence is joined to steps by solution and step, never by position, and is checked on the way:
one row per (solution, step, channel, policy). Counts of the same prefix from two rows are never
added up, since nothing here can tell whether they count the same draws twice; whoever gathers
evidence adds up before writing. Nothing here knows label rules.
"""

from dataclasses import dataclass

import polars as pl

from stepmill.annotators.rollouts import CHANNEL
from stepmill.errors import UserError

COUNTS = ("c", "k", "n_truncated", "n_unknown", "stop_reason")
"""Columns of a row of rollout evidence that the grid carries over."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What a label rule says of a set of solutions, in their order.

    `steps` has one row per step: `solution_id`, `step`, `kind`, `hard` (1, 0 or null), `soft`
    ([0, 1] or null), `confidence` ([0, 1] or null), `source` (empty without a label), `reason`
    (empty with one), `after_error`. `solutions` has one row per solution: `solution_id`,
    `first_error` (from 0; -1: none; null: unknown), `c_0`, `k_0` and `value_0` of the bare problem
    (null: unknown). A rule that leaves solutions out says why in `left_out` (null: it does not).
    """

    steps: pl.DataFrame
    solutions: pl.DataFrame


def rollout_policies(evidence: pl.DataFrame) -> list[str]:
    """Fingerprints of the policies whose rollouts are in `evidence`, sorted."""
    return sorted(evidence.filter(channel=CHANNEL)["policy"].unique())


def step_grid(solutions: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """One row per step of `solutions`, in their order, with what rollouts say of it.

    Args:
        solutions: `id` (unique), `n_steps`, `verdict` (of the final answer).
        evidence: columns as in `EVIDENCE_SCHEMA`, in any order. Rows of other solutions and of
            other channels are passed over.

    Returns:
        `row` (place of the solution), `solution_id`, `step`, `is_last`, `verdict`, the `COUNTS` of
        the prefix that ends with the step (null where it was not probed), and the same with the
        suffix `_0` for the bare problem.

    Raises:
        UserError: a solution or a statement comes twice, rollouts of several policies are mixed,
            counts are impossible, or a statement speaks of a step that there is not.
    """
    solutions = solutions.select(solution_id="id", n_steps="n_steps", verdict="verdict")
    _refuse(solutions.filter(pl.col("solution_id").is_duplicated()), "is there twice")
    rollouts = (
        evidence.filter(pl.col("channel") == CHANNEL, pl.col("step").is_not_null())
        .join(solutions, on="solution_id", how="inner")
        .select("solution_id", "step", "n_steps", "policy", *COUNTS)
    )
    _check(rollouts)
    grid = (
        solutions.with_row_index("row")
        .with_columns(step=pl.int_ranges(0, "n_steps", dtype=pl.Int32))
        .explode("step")
        .drop_nulls("step")
        .with_columns(is_last=pl.col("step") == pl.col("n_steps") - 1)
        .drop("n_steps")
    )
    return (
        grid.join(rollouts.drop("n_steps", "policy"), on=["solution_id", "step"], how="left")
        .join(_root_counts(rollouts), on="solution_id", how="left")
        .sort("row", "step")
    )


def by_solution(solutions: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """One row per solution, with steps or without: `row`, `solution_id`, counts of its problem.

    Arguments and columns as for `step_grid`, which has checked the evidence.
    """
    order = solutions.select(solution_id="id").with_row_index("row")
    rollouts = evidence.filter(channel=CHANNEL)
    return order.join(_root_counts(rollouts), on="solution_id", how="left").sort("row")


def _root_counts(rollouts: pl.DataFrame) -> pl.DataFrame:
    return rollouts.filter(step=-1).select(
        "solution_id", *(pl.col(name).alias(f"{name}_0") for name in COUNTS)
    )


def _check(rollouts: pl.DataFrame) -> None:
    policies = sorted(rollouts["policy"].unique())
    if len(policies) > 1:
        raise UserError(
            f"rollouts of {len(policies)} policies ({', '.join(policies)}) are mixed; values of"
            " different policies are different things: choose one with dataset.completer"
        )
    _refuse(
        rollouts.filter(pl.struct("solution_id", "step").is_duplicated()),
        "has two rows of rollout evidence; add up their counts if they are of distinct draws",
    )
    sound = (pl.col("c") >= 0) & (pl.col("c") <= pl.col("k"))
    _refuse(
        rollouts.filter(~sound.fill_null(False)), "has impossible counts; 0 <= c <= k is needed"
    )
    _refuse(
        rollouts.filter(~pl.col("step").is_between(-1, pl.col("n_steps") - 1)),
        "has evidence, but the solution has no such step",
    )


def _refuse(bad: pl.DataFrame, what: str) -> None:
    """Raise for the first bad row, if there is one."""
    if bad.is_empty():
        return
    row = bad.row(0, named=True)
    step = f", step {row['step']}" if "step" in row else ""
    counts = f" (c={row['c']}, k={row['k']})" if "c" in row else ""
    raise UserError(f"solution {row['solution_id']!r}{step}{counts} {what}")

"""Which solutions stay out of a data set, by name.

A filter is a polars expression that is true for the solutions to drop. It sees one row per
solution of a part, in canonical order, with the columns of `SOLUTIONS_SCHEMA` and `n_steps`,
`n_labels` (steps with a label), `first_error` and `value_0`. It never sees other parts: a problem
lies in one part with all its solutions.
"""

from collections import Counter
from collections.abc import Callable, Iterable

import polars as pl

from stepmill.records import Verdict
from stepmill.registry import Registry

Filter = Callable[[], pl.Expr]
FILTERS: Registry[Filter] = Registry("filter")
"""Filters by the name that the configuration, the metrics and the card use for the reason."""


def drop(rows: pl.DataFrame, names: Iterable[str], dropped: Counter[str]) -> pl.DataFrame:
    """Apply the filters in the order given, each to what the ones before it left.

    Args:
        rows: one row per solution.
        names: of `FILTERS`.
        dropped: the number of rows that each filter dropped is added to it.
    """
    for name in names:
        kept = rows.filter(~FILTERS[name]().fill_null(False))
        dropped[name] += rows.height - kept.height
        rows = kept
    return rows


def drop_left_out(rows: pl.DataFrame, dropped: Counter[str]) -> pl.DataFrame:
    """Drop what the label rule leaves out, counted by its reasons in `left_out`."""
    reasons = rows["left_out"].drop_nulls().value_counts().sort("left_out")
    dropped.update(dict(reasons.iter_rows()))
    return rows.filter(pl.col("left_out").is_null())


@FILTERS.register("duplicates")
def duplicates() -> pl.Expr:
    """A solution that repeats an earlier one of its problem, but for white space."""
    text = pl.col("text").str.replace_all(r"\s+", " ").str.strip_chars()
    return ~text.is_first_distinct().over("problem_id")


@FILTERS.register("no-steps")
def no_steps() -> pl.Expr:
    """A solution without any step: an empty text."""
    return pl.col("n_steps") == 0


@FILTERS.register("outcome-unknown")
def outcome_unknown() -> pl.Expr:
    """A solution whose final answer could not be judged: truncated, unparsed, timed out."""
    return pl.col("verdict") == Verdict.UNKNOWN.value


@FILTERS.register("label-unknown")
def label_unknown() -> pl.Expr:
    """A solution without a label on any of its steps."""
    return pl.col("n_labels") == 0

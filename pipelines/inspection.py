"""What a finished run looks like: figures over its data set, and single solutions.

Everything is read lazily with polars from `data/` and `metrics.json`; nothing is recomputed that a
run has written down.
"""

from pathlib import Path
from typing import Any

import polars as pl

from stepmill.errors import UserError
from stepmill.pipelines.rundir import read_json, read_run_yaml

POSITIONS = 10
"""Steps at or beyond this position share one line of the table by position."""


def scan_rows(root: Path | str) -> pl.LazyFrame:
    """The labelled rows of a run.

    Raises:
        UserError: not a run, or it has no data set yet.
    """
    read_run_yaml(root)
    data = Path(root) / "data"
    if not any(data.glob("*.parquet")):
        raise UserError(
            f"{root} has no data set yet: its run did not finish, or every row was dropped"
            " (metrics.json says why); run it again with the same command"
        )
    return pl.scan_parquet(data / "*.parquet")


def read_metrics(root: Path | str) -> dict[str, Any]:
    """The figures that the run wrote down.

    Raises:
        UserError: the run did not finish.
    """
    read_run_yaml(root)
    path = Path(root) / "metrics.json"
    if not path.exists():
        raise UserError(f"{root} has no metrics.json yet: run it again with the same command")
    return read_json(path)


def overview(root: Path | str) -> dict[str, Any]:
    """Figures of a run: what it wrote down, and its labels by position and by outcome.

    `by_position` has one entry per step index (the last collects the rest): steps, how many are
    labelled good, bad and not at all, and their mean soft label. `first_error` counts rows by
    first error as a share of the solution's length, in fifths. Labels that were imported have no
    `metrics`; `imported` says where they come from, and is None for a run.
    """
    rows = scan_rows(root)
    imported = read_run_yaml(root).get("imported")
    steps = (
        rows.select("id", "outcome", "steps")
        .explode("steps")
        .select("outcome", pl.col("steps").struct.unnest())
        .with_columns(pl.min_horizontal("index", POSITIONS - 1).alias("position"))
    )
    by_position = (
        steps.group_by("position")
        .agg(
            steps=pl.len(),
            good=(pl.col("hard_label") == 1).sum(),
            bad=(pl.col("hard_label") == 0).sum(),
            unlabelled=pl.all_horizontal(pl.col("hard_label", "soft_label").is_null()).sum(),
            soft=pl.col("soft_label").mean(),
            value=pl.col("mc_value").mean(),
        )
        .sort("position")
    )
    reasons = (
        steps.filter(pl.col("hard_label").is_null() & (pl.col("label_reason") != ""))
        .group_by("label_reason")
        .len()
        .sort("len", descending=True)
    )
    by_outcome = (
        rows.group_by("outcome")
        .agg(
            rows=pl.len(),
            without_error=(pl.col("first_error") == -1).sum(),
            with_error=(pl.col("first_error") >= 0).sum(),
            unknown=pl.col("first_error").is_null().sum(),
            steps=pl.col("n_steps").mean(),
        )
        .sort("outcome")
    )
    wrong = rows.filter(pl.col("first_error") >= 0)
    place = (
        wrong.select(fifth=pl.col("first_error") * 5 // pl.col("n_steps"))
        .group_by("fifth")
        .len()
        .sort("fifth")
    )
    tables = pl.collect_all([by_position, reasons, by_outcome, place])
    names = ("by_position", "unlabelled_reasons", "by_outcome", "first_error_fifth")
    return {
        "run": str(root),
        "imported": imported,
        "metrics": None if imported else read_metrics(root),
        **{name: table.to_dicts() for name, table in zip(names, tables, strict=True)},
    }


def find_row(root: Path | str, solution_id: str | None) -> dict[str, Any]:
    """One labelled row, by its id or the beginning of it; without one, a row with an error.

    Raises:
        UserError: no row, or several, begin so.
    """
    rows = scan_rows(root)
    if solution_id is None:
        found = rows.filter(pl.col("first_error") >= 0).head(1).collect()
        return (found if found.height else rows.head(1).collect()).to_dicts()[0]
    found = rows.filter(pl.col("id").str.starts_with(solution_id)).head(2).collect()
    if found.height == 0:
        some = ", ".join(rows.select("id").head(3).collect()["id"])
        raise UserError(f"no solution in {root} begins with {solution_id!r}; there are: {some}, …")
    if found.height > 1:
        raise UserError(f"several solutions in {root} begin with {solution_id!r}; write more of it")
    return found.to_dicts()[0]

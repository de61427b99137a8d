"""Where two label rules differ over the same evidence. No model is loaded and nothing is written.

Solutions are compared before any filter: a rule that leaves some out has no labels for them.
Labels of different kinds (is a step right, how likely does it end well) are never compared as
numbers; then only coverage and first errors are.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from stepmill.pipelines.dataset import stored_part
from stepmill.pipelines.finish import finished_shards, open_finished
from stepmill.pipelines.labels import LABEL_RULES, LabelSettings, label
from stepmill.pipelines.step_grid import Labels
from stepmill.records import LabelKind

_SAME = 1e-9
"""Soft labels closer than this are equal."""
_SIDES = ("a", "b")
_STATES = ("equal", "differ", "only_a", "only_b", "neither")
_UNCOMPARED = ("both", *_STATES[2:])


@dataclass(slots=True)
class _Counts:
    """What has been added up over the parts."""

    solutions: int = 0
    differing: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    moves: Counter[str] = field(default_factory=Counter)
    first_errors: Counter[str] = field(default_factory=Counter)
    distance: float = 0.0
    examples: list[dict[str, Any]] = field(default_factory=list)


def compare(
    root: Path | str, a: LabelSettings, b: LabelSettings, examples: int = 5
) -> dict[str, Any]:
    """Apply two rules to a finished run and say where they differ.

    Returns:
        `a`, `b`: the rules. `kinds`. `solutions`: `total` and `differing` (in any step or in the
        first error). `steps` and `first_error`: how many have a label (a known first error) by
        both rules, `equal` or `differ`, by one, `only_a` or `only_b`, or by `neither`; steps whose
        labels are of two kinds count as `both`. `moves`:
        hard labels that differ, such as `1 -> 0`. `kappa`: agreement of hard labels beyond chance
        (Cohen), None where undefined. `mean_distance` of soft labels. `examples`: differing steps.

    Raises:
        UserError: not a finished run, or a rule cannot be applied.
    """
    rundir, _, config = open_finished(root)
    kinds = [str(LABEL_RULES[rule.rule].kind) for rule in (a, b)]
    alike, counts = kinds[0] == kinds[1], _Counts()
    for shard in finished_shards(rundir):
        found, evidence = stored_part(rundir, shard, config.dataset)
        found = found.unique("id", maintain_order=True)
        pair = label(found, evidence, a), label(found, evidence, b)
        _add(counts, found, pair, alike, examples)
    compared = counts.steps["equal"] + counts.steps["differ"]
    soft = alike and kinds[0] == LabelKind.VALUE
    return {
        "a": a.model_dump(mode="json"),
        "b": b.model_dump(mode="json"),
        "kinds": kinds,
        "solutions": {"total": counts.solutions, "differing": counts.differing},
        "steps": _named(counts.steps, _STATES if alike else _UNCOMPARED),
        "first_error": _named(counts.first_errors, _STATES),
        "moves": dict(sorted((k, n) for k, n in counts.moves.items() if k in ("1 -> 0", "0 -> 1"))),
        "kappa": _kappa(counts.moves),
        "mean_distance": counts.distance / compared if compared and soft else None,
        "examples": counts.examples,
    }


def _named(counts: Counter[str], names: tuple[str, ...]) -> dict[str, int]:
    return {name: counts[name] for name in names}


def _add(
    counts: _Counts, found: pl.DataFrame, pair: tuple[Labels, Labels], alike: bool, examples: int
) -> None:
    """Count one part.

    Args:
        counts: added to.
        found: the solutions.
        pair: their labels by both rules.
        alike: whether the labels are of one kind.
        examples: how many to keep.
    """
    steps = _side_by_side([_step_labels(each) for each in pair], ["solution_id", "step"])
    distance = (pl.col("value_a") - pl.col("value_b")).abs()
    steps = steps.with_columns(state=_state("value_a", "value_b", distance < _SAME))
    steps = steps.with_columns(distance=distance)
    if not alike:
        compared = pl.col("state").is_in(["equal", "differ"])
        steps = steps.with_columns(state=pl.when(compared).then(pl.lit("both")).otherwise("state"))
    errors = [each.solutions.select("solution_id", "first_error") for each in pair]
    whole = _side_by_side(errors, ["solution_id"])
    same = pl.col("first_error_a") == pl.col("first_error_b")
    whole = whole.with_columns(state=_state("first_error_a", "first_error_b", same))
    both = steps.filter(pl.col("hard_a").is_not_null() & pl.col("hard_b").is_not_null())
    unlike = pl.concat([t.filter(_unlike()).select("solution_id") for t in (steps, whole)])
    counts.solutions += whole.height
    counts.differing += unlike["solution_id"].n_unique()
    counts.steps.update(dict(steps["state"].value_counts().iter_rows()))
    counts.first_errors.update(dict(whole["state"].value_counts().iter_rows()))
    counts.moves.update(f"{x} -> {y}" for x, y in both.select("hard_a", "hard_b").iter_rows())
    counts.distance += float(steps["distance"].sum()) if alike else 0.0
    room = examples - len(counts.examples)
    counts.examples += _examples(steps.filter(_unlike()), whole, found, room)


def _step_labels(labels: Labels) -> pl.DataFrame:
    """The label of each step as a number, and what it rests on or why it has none."""
    said = pl.when(pl.col("source") != "").then("source").otherwise("reason")
    value = pl.coalesce(pl.col("hard").cast(pl.Float64), "soft")
    return labels.steps.select("solution_id", "step", "hard", value=value, said=said)


def _side_by_side(tables: list[pl.DataFrame], keys: list[str]) -> pl.DataFrame:
    """Rows of two tables with the same keys, all other columns with the suffixes _a and _b."""
    named = [
        table.rename({c: f"{c}_{side}" for c in table.columns if c not in keys})
        for table, side in zip(tables, _SIDES, strict=True)
    ]
    return named[0].join(named[1], on=keys, how="left", maintain_order="left")


def _state(a: str, b: str, equal: pl.Expr) -> pl.Expr:
    """`equal`, `differ`, `only_a`, `only_b` or `neither`, for two columns that may be null."""
    without_a, without_b = pl.col(a).is_null(), pl.col(b).is_null()
    return (
        pl.when(without_a & without_b)
        .then(pl.lit("neither"))
        .when(without_b)
        .then(pl.lit("only_a"))
        .when(without_a)
        .then(pl.lit("only_b"))
        .when(equal)
        .then(pl.lit("equal"))
        .otherwise(pl.lit("differ"))
    )


def _unlike() -> pl.Expr:
    return pl.col("state").is_in(["differ", "only_a", "only_b"])


def _examples(
    steps: pl.DataFrame, whole: pl.DataFrame, found: pl.DataFrame, room: int
) -> list[dict[str, Any]]:
    """One step of each of some solutions, those with two different labels first."""
    if room <= 0:
        return []
    firsts = (
        steps.sort(pl.col("state") != "differ", "solution_id", "step")
        .unique("solution_id", keep="first", maintain_order=True)
        .head(room)
        .join(whole.drop("state"), on="solution_id", how="left", maintain_order="left")
    )
    texts = found.select("id", "problem_id", "text", "steps")
    joined = firsts.join(
        texts, left_on="solution_id", right_on="id", how="left", maintain_order="left"
    )
    return [
        {
            "solution_id": row["solution_id"],
            "problem_id": row["problem_id"],
            "step": row["step"],
            "text": row["text"][
                row["steps"][row["step"]]["start"] : row["steps"][row["step"]]["end"]
            ],
            **{
                side: {
                    "label": row[f"value_{side}"],
                    "because": row[f"said_{side}"],
                    "first_error": row[f"first_error_{side}"],
                }
                for side in _SIDES
            },
        }
        for row in joined.iter_rows(named=True)
    ]


def _kappa(moves: Counter[str]) -> float | None:
    """Cohen's kappa of two hard labels, from counts such as `1 -> 0`."""
    total = moves.total()
    if not total:
        return None
    agreed = (moves["0 -> 0"] + moves["1 -> 1"]) / total
    good_a = (moves["1 -> 0"] + moves["1 -> 1"]) / total
    good_b = (moves["0 -> 1"] + moves["1 -> 1"]) / total
    chance = good_a * good_b + (1 - good_a) * (1 - good_b)
    return (agreed - chance) / (1 - chance) if chance < 1 else None

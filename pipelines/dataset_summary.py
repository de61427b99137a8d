"""Counts over a labelled data set, gathered part by part, for the metrics and the card."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import polars as pl

POSITIONS = 12
"""Steps that the label statistics tell apart by position; later ones are counted together."""


@dataclass(slots=True)
class Summary:
    """Counts over a data set."""

    label_kind: str
    rows: int = 0
    steps: int = 0
    files: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    """Solutions left out, by filter."""
    problem_sources: Counter[str] = field(default_factory=Counter)
    """Rows by the source of their problem."""
    licenses: Counter[str] = field(default_factory=Counter)
    """Rows by the licence of their problem; empty when the source names none."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Rows by the verdict on their final answer."""
    first_error: Counter[str] = field(default_factory=Counter)
    """Rows by what is known of their first error: `found`, `none` or `unknown`."""
    hard: Counter[str] = field(default_factory=Counter)
    """Steps with a hard label: `good` and `bad`."""
    sources: Counter[str] = field(default_factory=Counter)
    """Steps with a label, by its source."""
    unlabelled: Counter[str] = field(default_factory=Counter)
    """Steps without a label, by reason."""
    by_position: dict[int, list[float]] = field(default_factory=dict)
    """Steps, labelled steps and the sum of their labels, by position up to `POSITIONS`."""

    def as_metrics(self) -> dict[str, Any]:
        """Plain values for metrics.json and the card.

        A mean label is the share of good steps for hard labels and the mean value for soft ones;
        None where no step has a label.
        """
        return {
            "label_kind": self.label_kind,
            "rows": self.rows,
            "steps": self.steps,
            "files": self.files,
            "dropped": dict(self.dropped),
            "problem_sources": _sorted(self.problem_sources),
            "licenses": _sorted(self.licenses),
            "outcomes": _sorted(self.outcomes),
            "first_error": _sorted(self.first_error),
            "hard": _sorted(self.hard),
            "sources": _sorted(self.sources),
            "unlabelled": _sorted(self.unlabelled),
            "by_position": [
                {
                    "position": f"{position}+" if position == POSITIONS else str(position),
                    "steps": int(steps),
                    "labelled": int(labelled),
                    "mean_label": round(total / labelled, 4) if labelled else None,
                }
                for position, (steps, labelled, total) in sorted(self.by_position.items())
            ],
        }

    def add(self, rows: pl.DataFrame, steps: pl.DataFrame) -> None:
        """Count the rows of one part and their steps."""
        self.rows += rows.height
        self.steps += steps.height
        _count(self.problem_sources, rows["source"])
        _count(self.licenses, rows["license"])
        _count(self.outcomes, rows["outcome"])
        error = pl.col("first_error")
        known = pl.when(error >= 0).then(pl.lit("found")).otherwise(pl.lit("none"))
        found = pl.when(error.is_null()).then(pl.lit("unknown")).otherwise(known)
        _count(self.first_error, rows.select(found).to_series())
        names = steps["hard_label"].drop_nulls().replace_strict({1: "good", 0: "bad"})
        _count(self.hard, names)
        _count(self.sources, steps.filter(pl.col("label_source") != "")["label_source"])
        _count(self.unlabelled, steps.filter(pl.col("label_reason") != "")["label_reason"])
        value = pl.coalesce(pl.col("hard_label").cast(pl.Float64), "soft_label")
        by_position = steps.group_by(pl.col("index").clip(upper_bound=POSITIONS)).agg(
            pl.len(), labelled=value.count(), total=value.sum()
        )
        for position, *numbers in by_position.iter_rows():
            before = self.by_position.get(position, [0, 0, 0.0])
            self.by_position[position] = [a + b for a, b in zip(before, numbers, strict=True)]


def _count(counter: Counter[str], values: pl.Series) -> None:
    counter.update(dict(values.value_counts().iter_rows()))


def _sorted(counter: Counter[str]) -> dict[str, int]:
    """By name: the order of a count must not depend on what was met first."""
    return dict(sorted(counter.items()))

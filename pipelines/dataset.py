"""From the stored parts of a run to the labelled data set: `data/train-00000-of-000NN.parquet`.

One part is in memory at a time. Solutions, problems, evidence and labels are joined by key, never
by position. Rows come in the order of the problems, and within a problem in the order of solution
ids, so the order in which work finished leaves no trace. The new data set is written beside the
old one and takes its place when it is whole.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
from pydantic import Field, field_validator

from stepmill.annotators.rollouts import CHANNEL
from stepmill.errors import UserError
from stepmill.pipelines.dataset_rows import (
    PolicyFacts,
    Provenance,
    candidates,
    dataset_rows,
    frame,
    step_rows,
    with_labels,
)
from stepmill.pipelines.dataset_summary import Summary
from stepmill.pipelines.filters import FILTERS, drop, drop_left_out
from stepmill.pipelines.labels import LABEL_RULES, LabelSettings, label
from stepmill.pipelines.parquet import TableWriter, read_table, sync_folder
from stepmill.pipelines.rundir import RunDir
from stepmill.pipelines.schema import (
    DATASET_SCHEMA,
    EVIDENCE_SCHEMA,
    PROBLEMS_SCHEMA,
    SOLUTIONS_SCHEMA,
)
from stepmill.pipelines.step_grid import rollout_policies
from stepmill.settings import Settings

__all__ = ["DatasetSettings", "PolicyFacts", "Provenance", "Summary", "build_dataset"]


class DatasetSettings(Settings):
    """What goes into the data set, and how it is cut into files."""

    filters: tuple[str, ...] = ("duplicates", "no-steps", "outcome-unknown")
    """What is left out, in this order: `duplicates`, `no-steps`, `outcome-unknown`,
    `label-unknown`. What each drops is counted and shown on the card."""
    completer: str | None = None
    """Fingerprint of the policy whose rollouts count; needed only where a run has several."""
    shard_mb: float = Field(default=500, gt=0)
    """Size of a file at most, in megabytes in memory (on disk it is a fraction of that); a single
    part of the run is never divided."""

    @field_validator("filters")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            FILTERS[name]  # a UserError with the allowed names
        return names


def build_dataset(
    rundir: RunDir,
    shards: Iterable[int],
    rule: LabelSettings,
    settings: DatasetSettings,
    provenance: Provenance,
    out: Path | None = None,
) -> Summary:
    """Label the evidence of finished shards and write the data set, in place of an older one.

    Args:
        rundir: the run.
        shards: indices of its finished shards.
        rule: how evidence becomes labels.
        settings: what is left out.
        provenance: goes into every row.
        out: folder that gets `data/`; the run directory itself when left out.

    Returns:
        Counts. With no row left, the data folder is empty.

    Raises:
        UserError: a part is missing or does not fit the others, or the rule cannot be applied.
    """
    summary = Summary(LABEL_RULES[rule.rule].kind.value)
    out = out or rundir.root
    data, staging, old = out / "data", out / ".data-new", out / ".data-old"
    if old.exists() and not data.exists():
        old.rename(data)  # killed between the two renames below
    for leftover in (staging, old):
        shutil.rmtree(leftover, ignore_errors=True)
    staging.mkdir()
    try:
        tables = _tables(rundir, shards, rule, settings, provenance, summary)
        files = _write_shards(staging, tables, int(settings.shard_mb * 1e6))
        for i, path in enumerate(files):
            path.rename(staging / f"train-{i:05d}-of-{len(files):05d}.parquet")
        sync_folder(staging)
        if data.exists():
            data.rename(old)
        staging.rename(data)
        sync_folder(out)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    summary.files = len(files)
    return summary


def _write_shards(folder: Path, tables: Iterator[pa.Table], limit: int) -> list[Path]:
    """Write tables to files of at most `limit` bytes in memory; none is empty."""
    paths: list[Path] = []
    table = next(tables, None)
    while table is not None:
        path = folder / f"{len(paths):05d}.parquet"
        with TableWriter(path, DATASET_SCHEMA) as writer:
            size = 0
            while table is not None and (size == 0 or size + table.nbytes <= limit):
                writer.write(table)
                size += table.nbytes
                table = next(tables, None)
        paths.append(path)
    return paths


def stored_part(
    rundir: RunDir, shard: int, settings: DatasetSettings
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Solutions of a finished shard as `candidates` gives them, and the evidence that counts."""
    problems = frame(read_table(rundir.part("problems", shard), PROBLEMS_SCHEMA))
    solutions = frame(read_table(rundir.part("solutions", shard), SOLUTIONS_SCHEMA))
    evidence = frame(read_table(rundir.part("evidence", shard), EVIDENCE_SCHEMA))
    if settings.completer is not None:
        chosen = (pl.col("channel") != CHANNEL) | (pl.col("policy") == settings.completer)
        evidence = evidence.filter(chosen)
    return candidates(problems, solutions), evidence


def _tables(
    rundir: RunDir,
    shards: Iterable[int],
    rule: LabelSettings,
    settings: DatasetSettings,
    provenance: Provenance,
    summary: Summary,
) -> Iterator[pa.Table]:
    """Rows of the data set, one table per part that has any; counts go to `summary`."""
    policies: set[str] = set()
    rule_text = rule.model_dump_json()
    for shard in shards:
        found, evidence = stored_part(rundir, shard, settings)
        policies.update(rollout_policies(evidence))
        if len(policies) > 1:
            raise UserError(
                f"{rundir.root} has rollouts of {len(policies)} policies; choose one with"
                f" dataset.completer: {', '.join(sorted(policies))}"
            )
        labels = label(found.unique("id", maintain_order=True), evidence, rule)
        kept = drop(with_labels(found, labels), settings.filters, summary.dropped)
        kept = drop_left_out(kept, summary.dropped)
        steps = step_rows(kept, evidence, labels, provenance)
        rows = dataset_rows(kept, steps, provenance, next(iter(policies), None)).with_columns(
            label_kind=pl.lit(summary.label_kind), label_rule=pl.lit(rule_text)
        )
        summary.add(rows, steps)
        if not rows.is_empty():
            yield rows.select(DATASET_SCHEMA.names).to_arrow().cast(DATASET_SCHEMA)

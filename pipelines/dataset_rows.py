"""The rows of the data set from the tables of one part: joins by key, and nothing else.

Nothing here knows files, label rules or filters. Frames carry `row`, the place of a solution in the
canonical order: problems in the order of their part, solutions of a problem by id.
"""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from stepmill.annotators.posterior import credible_interval
from stepmill.annotators.rollouts import CHANNEL
from stepmill.errors import UserError
from stepmill.pipelines.judge_votes import votes_by_step
from stepmill.pipelines.schema import PROVENANCE, STEP
from stepmill.pipelines.step_grid import Labels
from stepmill.records import Verdict


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """One policy, as provenance tells of it."""

    fingerprint: str
    engine: Mapping[str, Any]
    """`Engine.identity`."""
    sampling: Mapping[str, Any]
    """`SamplingParams.as_dict()`."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What it takes to repeat the rows of a run."""

    policies: Sequence[PolicyFacts]
    simulated: bool
    """No language model is behind the run."""
    seed: int
    segmenter: str
    config_hash: str
    """Fingerprint of the configuration behind the evidence."""
    code_version: str
    created_at: dt.datetime
    """When the run began, not when the labels were made: equal evidence gives equal files."""


def candidates(problems: pl.DataFrame, solutions: pl.DataFrame) -> pl.DataFrame:
    """Solutions with the columns of their problem, in canonical order.

    Raises:
        UserError: a solution has no problem, or steps that do not join to its text.
    """
    lost = solutions.join(problems, left_on="problem_id", right_on="id", how="anti")
    if not lost.is_empty():
        raise UserError(
            f"solution {lost['id'][0]!r} belongs to problem {lost['problem_id'][0]!r}, which is not"
            " in its part; the parts of this run do not fit together"
        )
    problems = problems.with_row_index("problem_row").rename(
        {"id": "problem_id", "answer": "reference_answer"}
    )
    starts, ends = (
        pl.col("steps").list.eval(pl.element().struct.field(name)) for name in ("start", "end")
    )
    joined = (
        solutions.join(problems, on="problem_id", how="left")
        .sort("problem_row", "id")
        .with_columns(n_steps=pl.col("steps").list.len())
    )
    text_end = pl.when(pl.col("n_steps") > 0).then(pl.col("text").str.len_chars()).otherwise(0)
    expected = pl.concat_list(pl.lit(0, pl.Int32), ends)
    found = pl.concat_list(starts, text_end.cast(pl.Int32))
    broken = joined.filter(expected != found)
    if not broken.is_empty():
        raise UserError(f"solution {broken['id'][0]!r}: its steps do not join to its text")
    return joined


def with_labels(solutions: pl.DataFrame, labels: Labels) -> pl.DataFrame:
    """The candidates with what the label rule says of each, as filters see them."""
    labelled = pl.col("hard").is_not_null() | pl.col("soft").is_not_null()
    n_labels = labels.steps.group_by("solution_id").agg(n_labels=labelled.sum())
    return (
        solutions.with_row_index("row")
        .join(labels.solutions, left_on="id", right_on="solution_id", how="left")
        .join(n_labels, left_on="id", right_on="solution_id", how="left")
        .with_columns(
            pl.col("n_labels").fill_null(0),
            left_out="left_out" if "left_out" in labels.solutions.columns else pl.lit(None),
        )
        .sort("row")
    )


def step_rows(
    rows: pl.DataFrame, evidence: pl.DataFrame, labels: Labels, provenance: Provenance
) -> pl.DataFrame:
    """The steps of `rows` with counts, votes and labels; columns `row` and those of the schema."""
    names = {
        p.fingerprint: str(p.engine.get("model") or p.engine.get("kind"))
        for p in provenance.policies
    }
    spans = (
        rows.select(
            "row",
            "id",
            "text",
            "steps",
            "n_steps",
            index=pl.int_ranges(0, "n_steps", dtype=pl.Int32),
        )
        .filter(pl.col("steps").list.len() > 0)
        .explode("steps", "index")
        .unnest("steps")
    )
    counts = evidence.filter(channel=CHANNEL).select(
        "solution_id",
        "step",
        "stop_reason",
        "n_truncated",
        "n_unknown",
        n_rollouts="k",
        n_correct="c",
    )
    named = labels.steps.rename(
        {
            "hard": "hard_label",
            "soft": "soft_label",
            "source": "label_source",
            "reason": "label_reason",
        }
    )
    here, there = ["id", "index"], ["solution_id", "step"]
    steps = (
        spans.join(counts, left_on=here, right_on=there, how="left")
        .join(named, left_on=here, right_on=there, how="left")
        .join(votes_by_step(spans, evidence, names), on=here, how="left")
        .sort("row", "index")
        .with_columns(
            pl.col("stop_reason").fill_null(""),
            pl.col("judge_votes").fill_null([]),
            text=pl.col("text").str.slice(pl.col("start"), pl.col("end") - pl.col("start")),
            char_start="start",
            char_end="end",
            mc_value=pl.when(pl.col("n_rollouts") > 0).then(
                pl.col("n_correct") / pl.col("n_rollouts")
            ),
        )
    )
    intervals = [
        credible_interval(c, k) if k else (None, None)
        for c, k in steps.select("n_correct", "n_rollouts").iter_rows()
    ]
    return steps.with_columns(
        mc_low=pl.Series([low for low, _ in intervals], dtype=pl.Float64),
        mc_high=pl.Series([high for _, high in intervals], dtype=pl.Float64),
    )


def dataset_rows(
    solutions: pl.DataFrame, steps: pl.DataFrame, provenance: Provenance, completer: str | None
) -> pl.DataFrame:
    """Everything of `DATASET_SCHEMA` but the label rule, which the caller knows.

    Args:
        solutions: what `with_labels` gave, or some of it.
        steps: what `step_rows` gave for them.
        provenance: goes into every row.
        completer: fingerprint of the policy that drew the rollouts; None: there are none.
    """
    columns = [
        pl.col(name) if name in steps.columns else _nothing(kind).alias(name)
        for name, kind in _STEP.items()
    ]
    lists = (
        steps.select("row", steps=pl.struct(columns))
        .group_by("row", maintain_order=True)
        .agg("steps")
    )
    verdict = pl.col("verdict")
    known = pl.when(verdict != Verdict.UNKNOWN.value)
    return (
        solutions.drop("steps")
        .join(lists, on="row", how="left")
        .join(_provenance(solutions, provenance, completer), on="policy", how="left")
        .sort("row")
        .with_columns(
            pl.col("steps").fill_null([]),
            prompt="question",
            solution="text",
            final_answer="answer",
            final_correct=known.then(verdict == Verdict.CORRECT.value),
            outcome="verdict",
            outcome_reason="reason",
            simulated=pl.lit(provenance.simulated),
            n_correct_0="c_0",
            n_rollouts_0="k_0",
        )
    )


def _nothing(kind: pl.DataType) -> pl.Expr:
    """What a column holds where there is nothing to say: null, or an empty list."""
    return pl.lit([], kind) if isinstance(kind, pl.List) else pl.lit(None, kind)


def _provenance(
    solutions: pl.DataFrame, provenance: Provenance, completer: str | None
) -> pl.DataFrame:
    """Columns `policy` and `provenance`, one row per policy that wrote solutions."""
    facts = {p.fingerprint: p for p in provenance.policies}

    def policy(fingerprint: str) -> dict[str, Any]:
        known = facts.get(fingerprint)
        if known is None:  # solutions that came with the input have an author of their own
            return {"fingerprint": fingerprint}
        return {
            "fingerprint": fingerprint,
            "engine": known.engine.get("kind"),
            "model": known.engine.get("model"),
            "identity": json.dumps(dict(known.engine), sort_keys=True, ensure_ascii=False),
            "sampling": dict(known.sampling),
        }

    rows = [
        {
            "policy": fingerprint,
            "provenance": {
                "generator": policy(fingerprint),
                "completer": None if completer is None else policy(completer),
                "seed": provenance.seed,
                "segmenter": provenance.segmenter,
                "config_hash": provenance.config_hash,
                "code_version": provenance.code_version,
                "created_at": provenance.created_at,
            },
        }
        for fingerprint in sorted(solutions["policy"].unique())
    ]
    schema = pa.schema([("policy", pa.string()), ("provenance", PROVENANCE)])
    return frame(pa.Table.from_pylist(rows, schema=schema))


def frame(table: pa.Table) -> pl.DataFrame:
    """A table as a polars frame."""
    result = pl.from_arrow(table)
    assert isinstance(result, pl.DataFrame)  # for the type checker
    return result


_STEP = frame(pa.schema(STEP).empty_table()).schema
"""Columns of a step and their polars types."""

"""The votes of judges: a table of them, what most of them say, and the data set's column.

A judge's row of evidence holds every reply (annotators/judge.py); only those that count are votes
here. Votes of several judges, or of one judge with several templates, are counted together, as in
AURORA's ensembles. Nothing here knows label rules.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from pydantic import Field

from stepmill.annotators.judge import JUDGE
from stepmill.errors import UserError
from stepmill.settings import Settings

_VOTES = {
    "solution_id": pl.String,
    "policy": pl.String,
    "prompt_hash": pl.String,
    "draw": pl.Int32,
    "seed": pl.Int64,
    "first_error": pl.Int32,
    "text": pl.String,
}


class Majority(Settings):
    """When votes make an opinion."""

    share: float = Field(default=0.5, ge=0.5, lt=1)
    """More than this share of the votes must name the same first error."""
    min_votes: int = Field(default=1, ge=1)
    """With fewer votes there is no opinion; replies that do not count are no votes."""


def vote_table(evidence: pl.DataFrame) -> pl.DataFrame:
    """One row per vote, in the order of solutions, policies and draws.

    Columns: `solution_id`, `policy` (of the judge), `prompt_hash`, `draw`, `seed`, `first_error`
    (-1: none) and `text`.

    Raises:
        UserError: a judge speaks twice of a solution, or its row cannot be read.
    """
    rows = evidence.filter(channel=JUDGE).sort("solution_id", "policy")
    votes = pl.DataFrame(
        [vote for row in rows.iter_rows(named=True) for vote in _votes(row)],
        schema=_VOTES,
        orient="row",
    )
    twice = votes.filter(pl.struct("solution_id", "policy", "prompt_hash", "draw").is_duplicated())
    if not twice.is_empty():
        raise UserError(
            f"solution {twice['solution_id'][0]!r} has a judge's vote twice (policy"
            f" {twice['policy'][0]!r}, draw {twice['draw'][0]}); keep one row of evidence"
        )
    return votes


def _votes(row: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    try:
        detail = json.loads(row["detail"])
        for reply in detail["replies"]:
            if reply["first_error"] is not None:
                yield (
                    row["solution_id"],
                    row["policy"],
                    detail["prompt_hash"],
                    reply["draw"],
                    reply["seed"],
                    reply["first_error"],
                    reply["text"],
                )
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"solution {row['solution_id']!r}: the judge's evidence cannot be read ({error!r})"
        ) from None


def opinions(solutions: pl.DataFrame, evidence: pl.DataFrame, settings: Majority) -> pl.DataFrame:
    """What most votes say of each solution that has any.

    Args:
        solutions: `id`, `n_steps`.
        evidence: columns as in `EVIDENCE_SCHEMA`.
        settings: when votes make an opinion.

    Returns:
        `solution_id`, `n_votes`, `opinion` (first error, -1 for none; null: the votes are too few
        or too much at odds) and `share` of the votes that say so.

    Raises:
        UserError: a vote names a step that there is not, and as `vote_table`.
    """
    votes = vote_table(evidence).join(
        solutions.select(solution_id="id", n_steps="n_steps"), on="solution_id"
    )
    beyond = votes.filter(~pl.col("first_error").is_between(-1, pl.col("n_steps") - 1))
    if not beyond.is_empty():
        bad = beyond.row(0, named=True)
        raise UserError(
            f"solution {bad['solution_id']!r} has {bad['n_steps']} steps, and a judge's vote names"
            f" step {bad['first_error']}"
        )
    counts = votes.group_by("solution_id", "first_error").agg(n=pl.len())
    enough = pl.col("n_votes") >= settings.min_votes
    most = pl.col("n") / pl.col("n_votes") > settings.share  # at least half, so one at most
    return (
        counts.with_columns(n_votes=pl.col("n").sum().over("solution_id"))
        .with_columns(wins=enough & most)
        .group_by("solution_id")
        .agg(
            pl.col("n_votes").first().cast(pl.Int32),
            opinion=pl.col("first_error").filter("wins").first(),
            share=(pl.col("n") / pl.col("n_votes")).filter("wins").first(),
        )
        .sort("solution_id")
    )


def votes_by_step(
    steps: pl.DataFrame, evidence: pl.DataFrame, names: Mapping[str, str]
) -> pl.DataFrame:
    """The data set's column `judge_votes` for each step.

    A vote calls the steps before its first error right, that one wrong, and says nothing of those
    after it. Its text is kept once: at the step that it calls wrong, or at the last one.

    Args:
        steps: `id` (of the solution), `index`, `n_steps`.
        evidence: columns as in `EVIDENCE_SCHEMA`.
        names: what the data set calls a judge, by its fingerprint.

    Returns:
        `id`, `index` and `judge_votes`, only for steps that have any.
    """
    error, index = pl.col("first_error"), pl.col("index")
    label = pl.when((error == -1) | (index < error)).then(1).when(index == error).then(0)
    shown = pl.when(error == -1).then(pl.col("n_steps") - 1).otherwise(error)
    vote = pl.struct(
        judge=pl.col("policy").replace(dict(names)),
        prompt_hash="prompt_hash",
        seed="seed",
        label=label.cast(pl.Int8),
        score=pl.lit(None, pl.Float32),
        rationale=pl.when(index == shown).then("text"),
    )
    return (
        steps.select("id", "index", "n_steps")
        .join(vote_table(evidence), left_on="id", right_on="solution_id")
        .sort("id", "index", "policy", "prompt_hash", "draw")
        .select("id", "index", judge_votes=vote)
        .group_by("id", "index", maintain_order=True)
        .agg("judge_votes")
    )

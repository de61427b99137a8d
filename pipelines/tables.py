"""Records to Arrow tables and back, one pair per stored table; nothing is lost on the way.

The one exception: log-probabilities are stored in single precision.
"""

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from stepmill.engines.base import Prefix
from stepmill.pipelines.ledger import LedgerRow
from stepmill.pipelines.schema import (
    EVIDENCE_SCHEMA,
    PROBLEMS_SCHEMA,
    ROLLOUTS_SCHEMA,
    SOLUTIONS_SCHEMA,
)
from stepmill.records import Completion, Evidence, Outcome, Problem, Solution, Step, Verdict


def problems_table(problems: Iterable[Problem]) -> pa.Table:
    """One row per problem, in the order given."""
    return pa.Table.from_pylist(
        [
            {
                "id": p.id,
                "question": p.question,
                "answer": p.answer,
                "source": p.source,
                "domain": p.domain,
                "license": p.license,
                "meta": json.dumps(dict(p.meta), sort_keys=True, ensure_ascii=False),
            }
            for p in problems
        ],
        schema=PROBLEMS_SCHEMA,
    )


def problems_from(table: pa.Table) -> list[Problem]:
    """The records of a problems table."""
    return [Problem(**{**row, "meta": json.loads(row["meta"])}) for row in table.to_pylist()]


def solutions_table(solutions: Iterable[Solution]) -> pa.Table:
    """One row per solution, in the order given; steps are stored as spans."""
    return pa.Table.from_pylist(
        [
            {
                "id": s.id,
                "problem_id": s.problem_id,
                "text": s.text,
                "steps": [{"start": step.start, "end": step.end} for step in s.steps],
                **_outcome_columns(s.outcome),
                "finish_reason": s.finish_reason,
                "n_tokens": s.n_tokens,
                "policy": s.policy,
                "origin": s.origin,
                "token_ids": s.token_ids,
            }
            for s in solutions
        ],
        schema=SOLUTIONS_SCHEMA,
    )


def solutions_from(table: pa.Table) -> list[Solution]:
    """The records of a solutions table."""
    return [
        Solution(
            id=row["id"],
            problem_id=row["problem_id"],
            text=row["text"],
            steps=tuple(
                Step(i, row["text"][s["start"] : s["end"]], s["start"], s["end"])
                for i, s in enumerate(row["steps"])
            ),
            outcome=_outcome(row),
            finish_reason=row["finish_reason"],
            n_tokens=row["n_tokens"],
            policy=row["policy"],
            origin=row["origin"],
            token_ids=_tuple(row["token_ids"]),
        )
        for row in table.to_pylist()
    ]


def evidence_table(evidence: Iterable[Evidence]) -> pa.Table:
    """One row per statement, in the order given."""
    names = EVIDENCE_SCHEMA.names
    return pa.Table.from_pylist(
        [{name: getattr(e, name) for name in names} for e in evidence], schema=EVIDENCE_SCHEMA
    )


def evidence_from(table: pa.Table) -> list[Evidence]:
    """The records of an evidence table."""
    return [
        Evidence(**{**row, "verdict": None if row["verdict"] is None else Verdict(row["verdict"])})
        for row in table.to_pylist()
    ]


def rollouts_table(rows: Iterable[LedgerRow]) -> pa.Table:
    """One row per completion, in the order given.

    Each repeats question and prefix, so that any row can be replayed by itself; compression takes
    the repetition away again.
    """
    return pa.Table.from_pylist(
        [
            {
                "problem_id": r.problem_id,
                "question": r.prefix.question,
                "prefix_key": r.prefix.key,
                "prefix": r.prefix.text,
                "policy": r.policy,
                "draw": r.completion.draw,
                "text": r.completion.text,
                "finish_reason": r.completion.finish_reason,
                "n_tokens": r.completion.n_tokens,
                "prompt_tokens": r.completion.prompt_tokens,
                "cached_tokens": r.completion.cached_tokens,
                "token_ids": r.completion.token_ids,
                "logprobs": r.completion.logprobs,
                **({} if r.outcome is None else _outcome_columns(r.outcome)),
            }
            for r in rows
        ],
        schema=ROLLOUTS_SCHEMA,
    )


def rollouts_from(table: pa.Table) -> list[LedgerRow]:
    """The ledger rows of a rollouts table; prefixes come without token ids, which are a hint."""
    return [
        LedgerRow(
            policy=row["policy"],
            problem_id=row["problem_id"],
            prefix=Prefix(row["question"], row["prefix"]),
            completion=Completion(
                text=row["text"],
                finish_reason=row["finish_reason"],
                n_tokens=row["n_tokens"],
                draw=row["draw"],
                token_ids=_tuple(row["token_ids"]),
                logprobs=_tuple(row["logprobs"]),
                cached_tokens=row["cached_tokens"],
                prompt_tokens=row["prompt_tokens"],
            ),
            outcome=None if row["verdict"] is None else _outcome(row),
        )
        for row in table.to_pylist()
    ]


def _outcome_columns(outcome: Outcome) -> dict[str, str | None]:
    return {
        "verdict": outcome.verdict,
        "answer": outcome.answer,
        "reason": outcome.reason,
    }


def _outcome(row: dict[str, Any]) -> Outcome:
    return Outcome(Verdict(row["verdict"]), row["answer"], row["reason"])


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)

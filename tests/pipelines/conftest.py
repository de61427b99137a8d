"""A small stored run whose every number was chosen by hand."""

import datetime as dt
from collections.abc import Callable, Sequence

import polars as pl
import pytest

from stepmill.pipelines.dataset import PolicyFacts, Provenance
from stepmill.pipelines.parquet import write_table_atomic
from stepmill.pipelines.rundir import RunDir
from stepmill.pipelines.tables import evidence_table, problems_table, solutions_table
from stepmill.records import (
    Evidence,
    Outcome,
    Problem,
    Solution,
    Step,
    Verdict,
    problem_id,
    solution_id,
)

POLICY = "policy-a"


def make_problem(question: str, answer: str = "4") -> Problem:
    return Problem(
        problem_id(question, answer), question, answer, "made-up", "sums", "cc0-1.0", {"level": "1"}
    )


def make_solution(
    problem: Problem,
    texts: Sequence[str],
    verdict: Verdict = Verdict.CORRECT,
    policy: str = POLICY,
) -> Solution:
    """A solution whose steps are `texts`."""
    text = "".join(texts)
    ends = [len("".join(texts[: i + 1])) for i in range(len(texts))]
    steps = tuple(
        Step(i, t, end - len(t), end) for i, (t, end) in enumerate(zip(texts, ends, strict=True))
    )
    reason = "truncated" if verdict is Verdict.UNKNOWN else "number"
    return Solution(
        id=solution_id(problem.id, text),
        problem_id=problem.id,
        text=text,
        steps=steps,
        outcome=Outcome(verdict, None if verdict is Verdict.UNKNOWN else "4", reason),
        finish_reason="length" if verdict is Verdict.UNKNOWN else "stop",
        n_tokens=len(text),
        policy=policy,
    )


def counts(solution: Solution, by_step: dict[int, tuple[int, int]]) -> list[Evidence]:
    """Rollout evidence (c, k) of a fixed number of draws, by step."""
    return [
        Evidence(solution.id, step, "rollouts", POLICY, c=c, k=k, stop_reason="fixed")
        for step, (c, k) in by_step.items()
    ]


@pytest.fixture
def provenance() -> Provenance:
    return Provenance(
        policies=[
            PolicyFacts(
                POLICY,
                {"kind": "simulated", "model": "none", "revision": "1"},
                {"temperature": 0.7, "top_p": 1.0, "top_k": 0, "max_tokens": 64, "stop": ["###"]},
            )
        ],
        simulated=True,
        seed=7,
        segmenter="line",
        config_hash="c0ffee",
        code_version="0.1.0",
        created_at=dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
    )


def frames(
    solutions: Sequence[Solution], evidence: Sequence[Evidence]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What label rules take."""
    stored = pl.DataFrame(pl.from_arrow(solutions_table(solutions)))
    counted = stored.with_columns(n_steps=pl.col("steps").list.len())
    return counted, pl.DataFrame(pl.from_arrow(evidence_table(evidence)))


WritePart = Callable[..., None]


@pytest.fixture
def rundir(tmp_path) -> RunDir:
    found = RunDir(tmp_path / "run")
    found.create()
    return found


@pytest.fixture
def write_part(rundir: RunDir) -> WritePart:
    """Store one part of a run."""

    def write(
        index: int,
        problems: Sequence[Problem],
        solutions: Sequence[Solution],
        evidence: Sequence[Evidence],
    ) -> None:
        write_table_atomic(rundir.part("problems", index), problems_table(problems))
        write_table_atomic(rundir.part("solutions", index), solutions_table(solutions))
        write_table_atomic(rundir.part("evidence", index), evidence_table(evidence))

    return write

"""Logic checks in worker processes."""

import asyncio

import pytest

from stepmill.errors import UserError
from stepmill.records import Verdict
from stepmill.verifiers.logic.problems import Claim, LogicProblem, LogicStep, Premise
from stepmill.verifiers.logic.solver import SolverLimits
from stepmill.verifiers.logic.steps import check_problem
from stepmill.verifiers.logic.verifier import LogicVerifier


@pytest.fixture(scope="module")
def verifier():
    made = LogicVerifier(workers=1)
    yield made
    made.close()


def test_findings_from_a_worker_are_those_made_here(verifier):
    problem = LogicProblem(
        "fol",
        (Premise("p", "∀x (P(x) → Q(x))"), Premise("q", "P(a)")),
        (LogicStep((Claim("Q(a)"),)), LogicStep((Claim("Q(b)"),)), LogicStep((Claim("Q("),))),
    )
    here = check_problem(problem)
    there = asyncio.run(verifier.check(problem))
    assert [step.verdict for step in there] == ["correct", "incorrect", "unknown"]
    assert [(s.step, s.reason, s.findings[0].claim) for s in there] == [
        (s.step, s.reason, s.findings[0].claim) for s in here
    ]
    assert there[0].as_dict() == here[0].as_dict()


def test_a_solution_in_controlled_english_is_checked(verifier):
    question = "Every cat is kind. Max is a cat. Is Max kind?"
    steps = ["Max is a cat.", "So Max is kind.", "Max is not a cat."]
    checked = asyncio.run(verifier.check_steps(question, steps))
    assert [step.verdict for step in checked] == ["correct", "correct", "incorrect"]


def test_an_unknown_notation_is_reported_at_once(verifier):
    with pytest.raises(UserError, match="logic notation"):
        asyncio.run(verifier.check(LogicProblem("latin", (), ())))


def test_a_worker_that_is_killed_leaves_every_step_unknown(pigeons):
    limits = SolverLimits(check_ms=60_000, problem_ms=60_000)
    made = LogicVerifier(workers=1, limits=limits, kill_s=1)
    premises = tuple(Premise(f"p{i}", text) for i, text in enumerate(pigeons(13)))
    steps = (LogicStep((Claim("A"),)), LogicStep((Claim("B"),)))
    try:
        checked = asyncio.run(made.check(LogicProblem("fol", premises, steps)))
    finally:
        made.close()
    assert [(s.verdict, s.reason) for s in checked] == [(Verdict.UNKNOWN, "time-out")] * 2

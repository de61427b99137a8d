"""Labels by votes alone and by outcome alone, worked out by hand."""

import pytest
from tests.pipelines.conftest import counts, frames, make_problem, make_solution
from tests.pipelines.test_judge_votes import judged

from stepmill.pipelines.judge_rules import JudgeRule, OutcomeRule
from stepmill.pipelines.labels import label
from stepmill.records import Verdict

RIGHT, WRONG, UNKNOWN = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNKNOWN


def run(rule, votes, verdict=WRONG, rollouts=None):
    """(labels, sources, reasons, confidence, first error) of a solution of four steps."""
    solution = make_solution(make_problem("q"), [f"step {i}\n" for i in range(4)], verdict)
    evidence = counts(solution, rollouts or {})
    if votes is not None:
        evidence.append(judged(votes, solution))
    found = label(*frames([solution], evidence), rule)
    steps = found.steps
    assert steps["soft"].is_null().all()
    return (
        steps["hard"].to_list(),
        steps["source"].to_list(),
        [reason for reason in steps["reason"] if reason],
        steps["confidence"].to_list(),
        found.solutions["first_error"][0],
    )


def test_most_votes_decide_the_first_error():
    hard, sources, reasons, confidence, first_error = run(JudgeRule(), [2, 2, -1])
    assert hard == [1, 1, 0, None]
    assert sources == ["judge", "judge", "judge", ""]
    assert reasons == ["after-error"]
    assert confidence == [pytest.approx(2 / 3)] * 3 + [None]
    assert first_error == 2


def test_after_the_error_steps_may_count_as_bad():
    hard, sources, _, confidence, _ = run(JudgeRule(after_error="zero"), [1])
    assert hard == [1, 0, 0, 0]
    assert sources == ["judge", "judge", "inferred", "inferred"]
    assert confidence == [1, 1, None, None]


def test_a_judge_may_find_no_error_in_a_wrong_solution():
    assert run(JudgeRule(), [-1])[0] == [1, 1, 1, 1]
    assert run(JudgeRule(), [-1])[-1] == -1


@pytest.mark.parametrize(
    ("votes", "reason"),
    [(None, "no-votes"), ([None, None], "no-votes"), ([0, 1], "votes-undecided")],
)
def test_without_an_opinion_there_is_no_label(votes, reason):
    hard, sources, reasons, confidence, first_error = run(JudgeRule(), votes, rollouts={0: (0, 8)})
    assert hard == [None] * 4
    assert sources == [""] * 4
    assert reasons == [reason] * 4
    assert confidence == [None] * 4
    assert first_error is None


@pytest.mark.parametrize(
    ("verdict", "labels", "first_error"),
    [(RIGHT, [1] * 4, -1), (WRONG, [0] * 4, None), (UNKNOWN, [None] * 4, None)],
)
def test_the_outcome_is_the_label_of_every_step(verdict, labels, first_error):
    """FreePRM's rule. Neither rollouts nor votes play a part."""
    hard, sources, reasons, _, found = run(OutcomeRule(), [1], verdict, {0: (0, 8)})
    assert hard == labels
    assert found == first_error
    if verdict is UNKNOWN:
        assert reasons == ["outcome-unknown"] * 4
    else:
        assert sources == ["outcome"] * 4

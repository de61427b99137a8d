"""Agreement on the first error, worked out by hand: four steps, one judge, some proofs."""

import runpy
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.pipelines.conftest import counts, frames, make_problem, make_solution
from tests.pipelines.test_judge_votes import judged

from stepmill.pipelines.consensus_rule import ConsensusRule
from stepmill.pipelines.labels import label
from stepmill.records import Evidence, Verdict

RIGHT, WRONG = Verdict.CORRECT, Verdict.INCORRECT
AT_2 = {0: (6, 8), 1: (5, 8), 2: (0, 8)}
"""Rollouts whose first dead prefix ends with step 2."""


@dataclass
class Found:
    hard: list[int | None]
    sources: str
    """First letters: consensus, judge, rollout, outcome, tool, inferred; `-` for no label."""
    reasons: set[str]
    first_error: int | None
    left_out: str | None
    confidence: list[float | None]
    after: list[bool]


def run(drawn, votes, verdict=WRONG, proven=(), **settings) -> Found:
    solution = make_solution(make_problem("q"), [f"step {i}\n" for i in range(4)], verdict)
    evidence = [*counts(solution, drawn), judged(votes, solution)]
    for step, said in dict(proven).items():
        evidence.append(Evidence(solution.id, step, "verifier:arithmetic", "1", verdict=said))
    found = label(*frames([solution], evidence), ConsensusRule(**settings))
    return Found(
        found.steps["hard"].to_list(),
        "".join(source[:1] or "-" for source in found.steps["source"]),
        {reason for reason in found.steps["reason"] if reason},
        found.solutions["first_error"][0],
        found.solutions["left_out"][0],
        found.steps["confidence"].to_list(),
        found.steps["after_error"].to_list(),
    )


def test_agreement_on_the_place_gives_labels_up_to_it():
    found = run(AT_2, [2, 2, -1])
    assert found.hard == [1, 1, 0, None]
    assert found.sources == "ccc-"
    assert found.reasons == {"after-error"}
    assert (found.first_error, found.left_out) == (2, None)
    assert found.after == [False, False, False, True]


def test_agreement_that_there_is_none():
    found = run({}, [-1], RIGHT)
    assert found.hard == [1, 1, 1, 1]
    assert found.first_error == -1


@pytest.mark.parametrize(
    ("rollouts", "votes", "verdict", "reason"),
    [
        (AT_2, [1], WRONG, "channels-disagree"),
        (AT_2, [-1], WRONG, "channels-disagree"),
        ({}, [2], RIGHT, "channels-disagree"),
        (AT_2, [1, 2], WRONG, "votes-undecided"),
        (AT_2, [None], WRONG, "no-votes"),
        ({0: (6, 8)}, [2], WRONG, "rollouts-undecided"),
    ],
)
def test_without_agreement_a_solution_is_unknown_or_left_out(rollouts, votes, verdict, reason):
    found = run(rollouts, votes, verdict)
    assert found.hard == [None] * 4
    assert found.reasons == {reason}
    assert (found.first_error, found.left_out) == (None, None)
    assert run(rollouts, votes, verdict, disagreement="drop").left_out == reason


def test_what_agrees_is_never_left_out():
    assert run(AT_2, [2], disagreement="drop").left_out is None


@pytest.mark.parametrize(
    ("after_error", "hard", "sources"),
    [("mask", [1, 0, None, None], "cc--"), ("zero", [1, 0, 0, 0], "ccii"),
     ("measured", [1, 0, 1, 0], "ccro")],
)  # fmt: skip
def test_what_follows_the_first_error_is_a_setting(after_error, hard, sources):
    found = run({0: (6, 8), 1: (0, 8), 2: (3, 8)}, [1], after_error=after_error)
    assert (found.hard, found.sources) == (hard, sources)


def test_the_least_sure_channel_gives_the_confidence():
    found = run(AT_2, [2, 2, 2, 2, -1])
    assert found.confidence[0] == pytest.approx(0.8)  # votes; the rollouts are surer
    assert found.confidence[2] == pytest.approx(1 - 0.9**9)  # rollouts: P(rate <= 0.1 | 0 of 8)


def test_how_rollouts_find_the_error_is_a_setting():
    weak = {0: (6, 8), 1: (1, 8), 2: (0, 8)}
    assert run(weak, [1]).first_error is None
    settings = {"alive": {"by": "fraction", "threshold": 0.5}}
    assert run(weak, [1], rollouts=settings).first_error == 1


def test_rollouts_may_be_read_for_a_change_point():
    rollouts = {-1: (14, 16), 0: (15, 16), 1: (15, 16), 2: (0, 16)}
    found = run(rollouts, [2], rollouts={"rule": "change-point", "learn": False})
    assert found.hard == [1, 1, 0, None]


def test_a_proven_false_step_overrules_channels_that_find_no_error():
    found = run({}, [-1], RIGHT, {1: WRONG})
    assert found.hard == [1, 0, None, None]
    assert found.sources == "ct--"
    assert found.first_error == 1
    assert found.confidence[1] == 1


def test_a_proven_false_step_overrules_later_first_errors_and_so_makes_them_agree():
    found = run({0: (6, 8), 1: (5, 8), 2: (4, 8)}, [2], WRONG, {1: WRONG})
    assert (found.hard, found.first_error) == ([1, 0, None, None], 1)


def test_an_earlier_first_error_that_both_find_stands_before_a_proof():
    found = run({0: (6, 8), 1: (0, 8)}, [1], WRONG, {3: WRONG})
    assert (found.hard, found.sources, found.first_error) == ([1, 0, None, None], "cc--", 1)


def test_an_earlier_first_error_that_one_finds_leaves_only_the_proof():
    found = run({0: (6, 8), 1: (0, 8)}, [-1], WRONG, {2: WRONG})
    assert found.hard == [None, None, 0, None]
    assert found.sources == "--t-"
    assert found.first_error is None
    assert found.after == [False, False, False, True]


def test_rollouts_that_know_the_steps_before_a_proof_agree_with_it():
    found = run({1: (5, 8)}, [3], WRONG, {2: WRONG})
    assert (found.hard, found.first_error) == ([1, 1, 0, None], 2)


def test_rollouts_that_do_not_know_the_steps_before_a_proof_do_not():
    found = run({0: (5, 8)}, [3], WRONG, {2: WRONG})
    assert (found.hard, found.first_error) == ([None, None, 0, None], None)


def test_a_step_that_was_computed_rightly_proves_nothing():
    assert run(AT_2, [1], WRONG, {1: RIGHT, 2: RIGHT}).first_error is None
    assert run(AT_2, [1], WRONG, {1: Verdict.UNKNOWN}).first_error is None


def test_proofs_can_be_passed_over():
    assert run({}, [-1], RIGHT, {1: WRONG}, proofs=False).first_error == -1


@pytest.mark.parametrize(
    ("channels", "hard", "sources"),
    [(["rollouts"], [1, 0, None, None], "rt--"), (["judge"], [1, 0, None, None], "jt--")],
)
def test_one_channel_alone_is_corrected_by_proofs(channels, hard, sources):
    """With rollouts alone this is the core of GroundedPRM: tools overrule what rollouts say."""
    found = run(AT_2, [3], WRONG, {1: WRONG}, channels=channels)
    assert (found.hard, found.sources) == (hard, sources)


@pytest.mark.parametrize("channels", [[], ["judge", "judge"], ["tools"]])
def test_channels_must_be_known_and_distinct(channels):
    with pytest.raises(ValidationError):
        ConsensusRule(channels=channels)


@pytest.mark.slow
def test_kept_consensus_labels_are_more_precise_than_either_channel_alone():
    """The claim of docs/recipes.md, at a fifth of its size: the truth of word problems is known."""
    benchmark = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "consensus.py"))
    rows = {row["rule"]: row for row in benchmark["table"](40, [(0.3, 1.0)])}
    for name in ("any", "half of root"):
        both = rows[f"consensus ({name})"]
        assert 0.3 < both["kept"] < 1
        for alone in (rows[f"rollouts ({name})"], rows["judge"]):
            assert both["first_error"] > alone["first_error"] + 0.05
            assert both["labels"] > alone["labels"] + 0.01


@st.composite
def cases(draw):
    """Evidence on four steps from all channels, and a rule, as they come."""
    pairs = st.integers(0, 8).flatmap(lambda k: st.tuples(st.integers(0, k), st.just(k)))
    settings = {
        "after_error": draw(st.sampled_from(["mask", "zero", "measured"])),
        "channels": draw(st.sampled_from([["rollouts"], ["judge"], ["rollouts", "judge"]])),
        "disagreement": draw(st.sampled_from(["unknown", "drop"])),
    }
    return (
        draw(st.dictionaries(st.integers(0, 2), pairs)),
        draw(st.lists(st.none() | st.integers(-1, 3), max_size=5)),
        draw(st.sampled_from(Verdict)),
        draw(st.dictionaries(st.integers(0, 3), st.sampled_from(Verdict))),
        settings,
    )


@given(cases())
def test_labels_say_what_the_first_error_says_and_nothing_more(case):
    *evidence, settings = case
    found = run(*evidence, **settings)
    proven = [step for step, said in evidence[3].items() if said is WRONG]
    error = found.first_error
    for step, hard in enumerate(found.hard):
        if error is None:
            assert hard == (0 if step == min(proven, default=None) else None)
        elif error == -1 or step < error:
            assert hard == 1
        elif step == error:
            assert hard == 0
        elif settings["after_error"] != "measured":
            assert hard == {"mask": None, "zero": 0}[settings["after_error"]]
    if proven and error is not None:
        assert 0 <= error <= min(proven)
    if "judge" in settings["channels"] and all(vote is None for vote in evidence[1]):
        assert error is None
    assert (found.left_out is None) == (error is not None or settings["disagreement"] != "drop")


@given(cases(), st.randoms())
def test_the_order_of_the_evidence_plays_no_part(case, chance):
    drawn, votes, verdict, proven, settings = case
    shuffled = [dict(chance.sample([*part.items()], len(part))) for part in (drawn, proven)]
    again = run(shuffled[0], votes, verdict, shuffled[1], **settings)
    assert run(drawn, votes, verdict, proven, **settings) == again

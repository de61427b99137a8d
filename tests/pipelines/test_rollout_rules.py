"""Labels worked out by hand, from counts that were chosen for it."""

from dataclasses import dataclass, replace

import pytest
from tests.pipelines.conftest import counts, frames, make_problem, make_solution

from stepmill.annotators.rollouts import AliveSettings
from stepmill.pipelines.labels import HardRule, SoftRule, label
from stepmill.records import Verdict

RIGHT, WRONG, UNKNOWN = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNKNOWN


@dataclass
class Found:
    """Labels of one solution."""

    values: list[float | None]
    sources: str
    """First letters: rollout, outcome, inferred; `-` for no label."""
    reasons: list[str]
    confidence: list[float | None]
    first_error: int | None
    value_0: float | None


def run(rule, n_steps, verdict, by_step, **changes):
    """Label one solution; `changes` are made to every row of its evidence."""
    solution = make_solution(make_problem("q"), [f"step {i}\n" for i in range(n_steps)], verdict)
    evidence = [replace(row, **changes) for row in counts(solution, by_step)]
    found = label(*frames([solution], evidence), rule)
    steps, (whole,) = found.steps, found.solutions.rows(named=True)
    return Found(
        values=steps["hard" if rule.rule == "hard" else "soft"].to_list(),
        sources="".join(source[:1] or "-" for source in steps["source"]),
        reasons=[reason for reason in steps["reason"] if reason],
        confidence=steps["confidence"].to_list(),
        first_error=whole["first_error"],
        value_0=whole["value_0"],
    )


def test_every_step_probed_up_to_the_first_error():
    found = run(HardRule(), 4, WRONG, {0: (5, 8), 1: (1, 8), 2: (0, 8)})
    assert found.values == [1, 1, 0, None]
    assert found.sources == "rrr-"
    assert found.reasons == ["after-error"]
    assert found.first_error == 2


def test_the_final_answer_decides_the_last_step_whatever_rollouts_say():
    found = run(HardRule(), 2, WRONG, {0: (5, 8), 1: (8, 8)})
    assert found.values == [1, 0]
    assert found.sources == "ro"
    assert found.confidence[1] == 1
    assert found.first_error == 1


def test_a_right_solution_that_nobody_probed_is_good_by_inference():
    found = run(HardRule(), 3, RIGHT, {})
    assert found.values == [1, 1, 1]
    assert found.sources == "iio"
    assert found.confidence == [None, None, 1]
    assert found.first_error == -1


def test_a_wrong_solution_that_nobody_probed_has_no_label_but_the_last():
    found = run(HardRule(), 3, WRONG, {})
    assert found.values == [None, None, 0]
    assert found.reasons == ["not-probed", "not-probed"]
    assert found.first_error is None


def test_binary_search_labels_what_lies_left_of_a_living_prefix():
    # probes at 3 (alive), 5 (dead), 4 (dead): the first error is 4
    found = run(HardRule(), 8, WRONG, {3: (2, 8), 5: (0, 8), 4: (0, 8)})
    assert found.values == [1, 1, 1, 1, 0, None, None, None]
    assert found.sources == "iiirr---"
    assert found.first_error == 4


def test_a_gap_between_alive_and_dead_stays_unknown():
    found = run(HardRule(), 6, WRONG, {1: (2, 8), 4: (0, 8)})
    assert found.values == [1, 1, None, None, 0, None]
    assert found.reasons == ["not-probed", "not-probed", "after-error"]
    assert found.first_error is None


def test_an_unknown_final_answer_leaves_the_end_open():
    found = run(HardRule(), 3, UNKNOWN, {0: (2, 8), 1: (2, 8)})
    assert found.values == [1, 1, None]
    assert found.reasons == ["outcome-unknown"]
    assert found.first_error is None


def test_an_error_that_was_found_is_known_even_if_the_final_answer_is_not():
    assert run(HardRule(), 3, UNKNOWN, {0: (2, 8), 1: (0, 8)}).first_error == 1


@pytest.mark.parametrize(
    ("unknown", "reason"),
    [
        ({"n_truncated": 8}, "truncated"),
        ({"n_truncated": 7, "n_unknown": 1}, "rollouts-unknown"),
        ({}, "not-probed"),
    ],
)
def test_rollouts_without_a_known_outcome_are_no_label(unknown, reason):
    found = run(HardRule(), 2, WRONG, {0: (0, 0)}, stop_reason="too-few-known", **unknown)
    assert found.values == [None, 0]
    assert found.reasons == [reason]
    assert found.first_error is None


def test_a_step_that_was_probed_in_vain_is_not_inferred():
    found = run(HardRule(), 2, RIGHT, {0: (0, 0)}, n_truncated=8)
    assert found.values == [None, 1]
    assert found.first_error is None


@pytest.mark.parametrize(
    ("by", "c", "expected"), [("any", 1, 1), ("any", 0, None), ("fraction", 2, None)]
)
def test_of_too_few_known_draws_only_a_success_says_something(by, c, expected):
    rule = HardRule(alive=AliveSettings(by=by))
    found = run(rule, 2, WRONG, {0: (c, 2)}, stop_reason="too-few-known")
    assert found.values == [expected, 0]
    assert found.reasons == ([] if expected else ["too-few-known"])


def test_a_fraction_is_compared_with_the_threshold():
    rule = HardRule(alive=AliveSettings(by="fraction", threshold=0.3))
    found = run(rule, 4, WRONG, {0: (3, 10), 1: (2, 10)})
    assert found.values == [1, 0, None, None]


def test_a_relative_threshold_follows_the_rate_of_the_bare_problem():
    rule = HardRule(alive=AliveSettings(by="relative", threshold=0.5))
    easy = run(rule, 3, WRONG, {-1: (8, 10), 0: (4, 10), 1: (3, 10)})
    assert easy.values == [1, 0, None]
    hard = run(rule, 3, WRONG, {-1: (2, 10), 0: (4, 10), 1: (3, 10)})
    assert hard.values == [1, 1, 0]
    assert (easy.value_0, hard.value_0) == (0.8, 0.2)


@pytest.mark.parametrize("root", [{}, {-1: (0, 10)}])
def test_without_a_rate_to_relate_to_one_success_is_wanted(root):
    rule = HardRule(alive=AliveSettings(by="relative"))
    assert run(rule, 3, WRONG, {**root, 0: (1, 8), 1: (0, 8)}).values == [1, 0, None]


def test_after_an_error_labels_are_masked_zeroed_or_as_measured():
    by_step = {0: (3, 8), 1: (0, 8), 2: (2, 8), 4: (0, 8)}
    masked = run(HardRule(after_error="mask"), 6, WRONG, by_step)
    zeroed = run(HardRule(after_error="zero"), 6, WRONG, by_step)
    measured = run(HardRule(after_error="measured"), 6, WRONG, by_step)
    assert masked.values == [1, 0, None, None, None, None]
    assert zeroed.values == [1, 0, 0, 0, 0, 0]
    assert zeroed.sources == "rriiro"
    assert measured.values == [1, 0, 1, None, 0, 0]
    assert measured.reasons == ["after-error"]
    assert masked.first_error == zeroed.first_error == measured.first_error == 1


def test_repair_lets_a_later_success_overrule_an_earlier_failure():
    rule = HardRule(monotone="repair")
    found = run(rule, 5, WRONG, {0: (0, 8), 1: (0, 8), 2: (1, 8), 3: (0, 8)})
    assert found.values == [1, 1, 1, 0, None]
    assert found.sources == "iirr-"
    assert found.first_error == 3
    assert run(rule, 2, RIGHT, {0: (0, 8)}).values == [1, 1]


def test_confidence_is_the_posterior_on_the_side_of_the_label():
    found = run(HardRule(negligible=0.1), 3, WRONG, {0: (1, 8), 1: (0, 8)})
    # uniform prior: P(p > .1 | 1 of 8) = P(Bin(9, .1) <= 1); P(p < .1 | 0 of 8) = 1 - .9^9
    assert found.confidence[0] == pytest.approx(0.9**9 + 9 * 0.1 * 0.9**8)
    assert found.confidence[1] == pytest.approx(1 - 0.9**9)
    half = run(HardRule(alive=AliveSettings(by="fraction")), 2, WRONG, {0: (1, 1)})
    assert half.confidence[0] == pytest.approx(0.75)


def test_soft_labels_are_shares_and_the_last_is_the_final_answer():
    found = run(SoftRule(), 4, WRONG, {-1: (6, 8), 0: (4, 8), 1: (2, 8), 2: (0, 8)})
    assert found.values == [0.5, 0.25, 0.0, None]
    assert found.sources == "rrr-"
    assert found.first_error == 2
    assert found.value_0 == 0.75


def test_soft_labels_are_not_made_up_where_nothing_was_measured():
    found = run(SoftRule(), 3, RIGHT, {})
    assert found.values == [None, None, 1.0]
    assert found.reasons == ["not-probed", "not-probed"]
    assert found.first_error == -1


@pytest.mark.parametrize(
    ("smooth", "stop", "expected"),
    [
        ("auto", "fixed", 1.0),
        ("auto", "success", 2 / 3),
        ("never", "success", 1.0),
        ("always", "fixed", 2 / 3),
    ],
)
def test_shares_are_smoothed_where_the_stop_rule_biases_them(smooth, stop, expected):
    found = run(SoftRule(smooth=smooth), 2, RIGHT, {0: (1, 1)}, stop_reason=stop)
    assert found.values == [pytest.approx(expected), 1.0]


def test_soft_labels_after_an_error():
    by_step = {0: (0, 8), 1: (2, 8)}
    assert run(SoftRule(after_error="mask"), 4, WRONG, by_step).values == [0, None, None, None]
    assert run(SoftRule(after_error="zero"), 4, WRONG, by_step).values == [0, 0, 0, 0]
    measured = run(SoftRule(after_error="measured"), 4, WRONG, by_step)
    assert measured.values == [0, 0.25, None, 0]


def test_soft_repair_takes_the_largest_value_from_here_on_but_not_the_final_answer():
    rule = SoftRule(monotone="repair")
    found = run(rule, 5, RIGHT, {0: (2, 8), 1: (0, 8), 2: (4, 8)})
    assert found.values == [0.5, 0.5, 0.5, None, 1.0]
    assert found.sources == "iir-o"
    ends_dead = run(rule, 3, RIGHT, {0: (4, 8), 1: (0, 8)})
    assert ends_dead.values == [0.5, 0, None]
    assert ends_dead.first_error == 1


def test_a_share_of_too_few_draws_is_a_value_but_no_error():
    found = run(SoftRule(), 3, WRONG, {0: (0, 2), 1: (0, 8)}, stop_reason="too-few-known")
    assert found.values == [0, 0, 0]
    assert found.first_error is None

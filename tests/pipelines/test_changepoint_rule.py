"""The change-point rule on counts whose meaning is plain."""

import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.pipelines.conftest import counts, frames, make_problem, make_solution

from stepmill.pipelines.changepoint_rule import ChangePointRule
from stepmill.pipelines.labels import label
from stepmill.records import Verdict

PLAIN = ChangePointRule(learn=False)
WRONG = Verdict.INCORRECT


def labelled(by_step, n_steps=6, verdict=WRONG, rule=PLAIN):
    """First error and step rows of one solution with these counts."""
    solution = make_solution(make_problem("q"), ["step\n"] * n_steps, verdict)
    labels = label(*frames([solution], counts(solution, by_step)), rule)
    return labels.solutions["first_error"][0], labels.steps.rows(named=True)


def test_the_first_error_is_where_the_success_rate_falls():
    """Counts seen on a real model of 1.5 billion parameters: the fourth step is wrong."""
    seen = {-1: (8, 16), 0: (12, 16), 1: (14, 16), 2: (14, 16), 3: (3, 16), 4: (0, 16)}
    place, steps = labelled(seen)
    assert place == 3
    assert [s["hard"] for s in steps] == [1, 1, 1, 0, None, None]
    assert [s["reason"] for s in steps] == ["", "", "", "", "after-error", "after-error"]
    assert steps[3]["confidence"] > 0.95
    assert [s["after_error"] for s in steps] == [False] * 4 + [True] * 2


def test_few_successes_after_the_error_do_not_hide_it():
    """Any-success rules would put the error at the end, since every prefix has a success."""
    seen = {-1: (12, 16), 0: (7, 8), 1: (8, 8), 2: (1, 8), 3: (1, 8), 4: (1, 8)}
    assert labelled(seen)[0] == 2


def test_soft_labels_are_the_probability_that_the_error_is_still_to_come():
    _, steps = labelled({-1: (8, 16), 1: (3, 4), 3: (1, 4)})
    soft = [s["soft"] for s in steps]
    assert soft == sorted(soft, reverse=True)
    assert soft[-1] == pytest.approx(0, abs=1e-9)
    assert all(0 <= p <= 1 for p in soft)


def test_after_a_wrong_answer_alone_nothing_is_known():
    place, steps = labelled({-1: (8, 16)})
    assert place is None
    assert {(s["hard"], s["soft"], s["reason"]) for s in steps} == {(None, None, "not-probed")}


def test_a_single_wrong_step_is_the_first_error():
    assert labelled({-1: (8, 16)}, n_steps=1)[0] == 0


def test_a_right_answer_makes_every_step_good():
    place, steps = labelled({-1: (8, 16)}, verdict=Verdict.CORRECT)
    assert place == -1
    assert [(s["hard"], s["soft"]) for s in steps] == [(1, 1.0)] * 6
    assert [s["source"] for s in steps] == ["inferred"] * 5 + ["outcome"]


def test_an_unknown_answer_leaves_all_unknown():
    place, steps = labelled({-1: (8, 16), 2: (0, 8)}, verdict=Verdict.UNKNOWN)
    assert place is None
    assert {s["reason"] for s in steps} == {"outcome-unknown"}


def test_an_unsure_place_keeps_what_is_sure_before_it():
    place, steps = labelled({-1: (8, 16), 2: (8, 8), 4: (0, 8)})
    assert place is None
    assert [s["hard"] for s in steps] == [1, 1, 1, None, None, None]
    assert [s["reason"] for s in steps] == ["", "", "", "unsure", "unsure", "unsure"]
    assert steps[3]["soft"] == pytest.approx(0.5, abs=0.1)


def test_counts_that_rise_after_they_fell_are_a_misfit():
    place, steps = labelled({-1: (8, 16), 0: (0, 8), 1: (0, 8), 3: (8, 8), 4: (8, 8)})
    assert place is None
    assert {(s["soft"], s["reason"]) for s in steps} == {(None, "misfit")}


def test_a_solution_that_is_too_long_has_no_label():
    _, steps = labelled({-1: (8, 16), 1: (0, 8)}, n_steps=65)
    assert {s["reason"] for s in steps} == {"too-long"}


def test_zero_after_the_error_marks_the_rest_bad():
    rule = ChangePointRule(learn=False, after_error="zero")
    _, steps = labelled({-1: (16, 16), 0: (8, 8), 1: (0, 8), 2: (0, 8)}, rule=rule)
    assert [s["hard"] for s in steps] == [1, 0, 0, 0, 0, 0]
    assert [s["source"] for s in steps[2:]] == ["inferred"] * 4


def many(seed, echo):
    """Solutions by a policy that solves half of its problems; `echo` is how often it succeeds from
    a wrong prefix, relative to a right one."""
    chance = np.random.default_rng(seed)
    solutions, evidence = [], []
    for i in range(60):
        solution = make_solution(make_problem(str(i)), [f"{i}\n"] * 6, WRONG)
        place = int(chance.integers(0, 6))
        rates = [0.5 ** (1 - t / 6) * (1 if t <= place else echo) for t in range(6)]
        by_step = {t - 1: (int(chance.binomial(8, rates[t])), 8) for t in range(6)}
        solutions.append(solution)
        evidence += counts(solution, by_step)
    return solutions, evidence


def test_how_a_policy_corrects_itself_is_learned_from_its_other_solutions():
    solution = make_solution(make_problem("q"), ["s\n"] * 6, WRONG)
    own = counts(solution, {-1: (8, 16), 3: (1, 2)})

    def still_right_after_step_3(echo):
        solutions, evidence = many(5, echo)
        steps = label(*frames([*solutions, solution], [*evidence, *own]), ChangePointRule()).steps
        return steps.filter(solution_id=solution.id)["soft"][3]

    assert still_right_after_step_3(0.0) > 0.85  # a success proves the prefix right
    assert still_right_after_step_3(0.4) < 0.75


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_learning_does_not_depend_on_the_order_of_the_evidence(chance: random.Random):
    solutions, evidence = many(3, 0.1)
    in_order = label(*frames(solutions, evidence), ChangePointRule())
    shuffled = chance.sample(evidence, len(evidence))
    mixed = chance.sample(solutions, len(solutions))
    again = label(*frames(mixed, shuffled), ChangePointRule())
    key = ["solution_id", "step"]
    assert_frame_equal(in_order.steps.sort(key), again.steps.sort(key), check_exact=True)


def test_no_solutions_give_no_labels():
    labels = label(*frames([], []), ChangePointRule())
    assert labels.steps.is_empty()
    assert labels.solutions.schema["first_error"] == pl.Int32

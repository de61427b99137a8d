from dataclasses import replace

import pytest
from tests.pipelines.conftest import POLICY, counts, frames, make_problem, make_solution

from stepmill.errors import UserError
from stepmill.pipelines.step_grid import by_solution, rollout_policies, step_grid

FIRST = make_solution(make_problem("1"), ["a", "b", "c"])
EMPTY = make_solution(make_problem("2"), [])
LAST = make_solution(make_problem("3"), ["d"])


def test_each_step_has_one_row_in_the_order_of_the_solutions():
    grid = step_grid(*frames([LAST, EMPTY, FIRST], counts(FIRST, {1: (2, 8)})))
    assert grid.select("solution_id", "step", "is_last", "c", "k").rows() == [
        (LAST.id, 0, True, None, None),
        (FIRST.id, 0, False, None, None),
        (FIRST.id, 1, False, 2, 8),
        (FIRST.id, 2, True, None, None),
    ]


def test_counts_of_the_bare_problem_stand_beside_every_step():
    evidence = counts(FIRST, {-1: (3, 4), 0: (1, 4)})
    solutions, statements = frames([FIRST, EMPTY], evidence)
    assert step_grid(solutions, statements).select("c_0", "k_0").rows() == [(3, 4)] * 3
    assert by_solution(solutions, statements).select("solution_id", "c_0").rows() == [
        (FIRST.id, 3),
        (EMPTY.id, None),
    ]


def test_other_channels_and_other_solutions_are_passed_over():
    other = replace(counts(FIRST, {0: (1, 2)})[0], channel="judge", policy="someone")
    grid = step_grid(*frames([LAST], [other, *counts(FIRST, {0: (1, 2)})]))
    assert grid["c"].to_list() == [None]


def refused(evidence, solutions=(FIRST,)):
    with pytest.raises(UserError) as caught:
        step_grid(*frames(solutions, evidence))
    return str(caught.value)


def test_two_rows_for_one_prefix_are_refused_and_never_added_up():
    message = refused(counts(FIRST, {1: (2, 8)}) * 2)
    assert f"solution {FIRST.id!r}, step 1" in message
    assert "two rows" in message


def test_rollouts_of_several_policies_are_not_mixed():
    rows = counts(FIRST, {0: (1, 2), 1: (1, 2)})
    rows[1] = replace(rows[1], policy="policy-b")
    assert "policy-a, policy-b" in refused(rows)
    assert rollout_policies(frames([FIRST], rows)[1]) == [POLICY, "policy-b"]


@pytest.mark.parametrize(("c", "k"), [(3, 2), (-1, 2), (None, 2), (1, None)])
def test_impossible_counts_are_refused(c, k):
    assert "0 <= c <= k" in refused([replace(counts(FIRST, {0: (1, 2)})[0], c=c, k=k)])


@pytest.mark.parametrize("step", [-2, 3])
def test_evidence_about_a_step_that_is_not_there_is_refused(step):
    assert f"step {step}" in refused(counts(FIRST, {step: (1, 2)}))


def test_a_solution_that_comes_twice_is_refused():
    assert "is there twice" in refused([], [FIRST, FIRST])

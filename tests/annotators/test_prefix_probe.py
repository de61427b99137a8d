import asyncio
import json

import pytest
from tests.annotators.conftest import PROBLEM, ScriptedSampler, rollout, solution

from stepmill.annotators.prefix_probe import PrefixProbe
from stepmill.annotators.rollouts import Tally
from stepmill.records import Evidence

ROOT = Tally(c=3, k=6)
DRAWN = [
    rollout("-", "abcd"),  # the solution itself
    rollout("+", "abxz"),
    rollout("+", "abcz"),
    rollout("-", "abcd"),  # drawn again
    rollout("t", "abyy"),
    rollout("-", "azzz"),
]


def probe_of(script=(), drawn=DRAWN):
    return PrefixProbe(ScriptedSampler(dict(script)), PROBLEM, solution("abcd"), ROOT, drawn=drawn)


def test_draws_from_the_problem_that_begin_alike_pass_through_a_prefix():
    """The solution is left out once; what costs nothing has no tokens."""
    probe = probe_of()
    assert probe.passing(1) == Tally(c=2, k=4, n_truncated=1)
    assert probe.passing(2) == Tally(c=2, k=3, n_truncated=1)
    assert probe.passing(3) == Tally(c=1, k=2)
    assert probe_of(drawn=()).passing(1) == Tally()


def test_reused_draws_are_added_to_those_made_and_told_apart_in_the_detail():
    probe = probe_of({"ab": "+--"})
    assert probe.reuse(2) == Tally(c=2, k=3, n_truncated=1)
    assert asyncio.run(probe.draw(2, 3)) == Tally(c=1, k=3, tokens=30)
    probe.conclude("confident", Evidence("s", None, "said", "p"))
    row, said = probe.evidence()
    assert (row.step, row.c, row.k, row.n_truncated, row.cost_tokens) == (1, 3, 6, 1, 30)
    assert json.loads(row.detail) == {"reused": {"c": 2, "k": 3}}
    assert row.stop_reason == "confident"
    assert said.channel == "said"


def test_reused_draws_alone_are_evidence_too():
    probe = probe_of()
    probe.reuse(1)
    (row,) = probe.evidence()
    assert (row.c, row.k, row.cost_tokens) == (2, 4, 0)


@pytest.mark.parametrize("t", [0, 4, 5])
def test_neither_the_problem_nor_the_whole_solution_is_drawn_from(t):
    with pytest.raises(ValueError, match="is not probed"):
        asyncio.run(probe_of().draw(t, 1))


def test_the_share_after_a_prefix_is_of_the_text():
    assert [probe_of().share_after(t) for t in range(5)] == [1, 0.75, 0.5, 0.25, 0]

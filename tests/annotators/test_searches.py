import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.annotators.conftest import PROBLEM, ScriptedSampler, solution

from stepmill.annotators.prefix_probe import PrefixProbe
from stepmill.annotators.rollouts import ProbeSettings, Tally
from stepmill.annotators.searches import SEARCHES, all_of
from stepmill.errors import EngineError, Stopped

ROOT = Tally(c=1, k=2)
TEXT = "abcdefghijklmnopqrstuvwxyz"


def searched(method, n, script):
    """Run a search over a solution of `n` steps; gives its probed prefixes as {t: alive}."""
    sampler = ScriptedSampler(script)
    probe = PrefixProbe(sampler, PROBLEM, solution(TEXT[:n]), ROOT, ProbeSettings(k=2))
    asyncio.run(SEARCHES[method](probe))
    assert all(1 <= len(text) < n for text in sampler.prefixes)
    rows = probe.evidence()
    assert len(rows) == len(sampler.prefixes)
    return {(row.step or 0) + 1: None if row.value is None else row.value > 0 for row in rows}


def dead_from(first_dead):
    """The truth: prefixes shorter than `first_dead` are alive and no other is."""
    return lambda prefix: "+" if len(prefix) < first_dead else "-"


lengths_and_places = st.integers(1, 26).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))


@given(lengths_and_places)
def test_every_step_probes_each_proper_prefix(case):
    n, first_dead = case
    found = searched("every-step", n, dead_from(first_dead))
    assert found == {t: t < first_dead for t in range(1, n)}


@given(lengths_and_places)
def test_a_scan_stops_at_the_first_dead_prefix(case):
    n, first_dead = case
    found = searched("scan", n, dead_from(first_dead))
    assert found == {t: t < first_dead for t in range(1, min(first_dead + 1, n))}


@given(lengths_and_places)
def test_a_binary_search_ends_between_the_last_living_and_the_first_dead_prefix(case):
    n, first_dead = case
    found = searched("binary", n, dead_from(first_dead))
    assert max([0, *(t for t, alive in found.items() if alive)]) == first_dead - 1
    assert min([n, *(t for t, alive in found.items() if not alive)]) == first_dead
    assert len(found) <= math.ceil(math.log2(n))


def test_a_binary_search_starts_in_the_middle():
    assert list(searched("binary", 8, dead_from(8))) == [4, 6, 7]
    assert list(searched("binary", 8, dead_from(1))) == [1, 2, 4]


def test_an_undecided_prefix_ends_a_binary_search():
    assert searched("binary", 8, {"abcd": "+", "abcdef": "?"}) == {4: True, 6: None}


def test_an_undecided_prefix_ends_a_scan():
    assert searched("scan", 8, {"a": "+", "ab": "t"}) == {1: True, 2: None}


class SlowSampler(ScriptedSampler):
    """A scripted sampler whose answers come after as many turns of the loop as `delays` says.

    The outcomes stay those of the script, so only the order in which they arrive differs.
    """

    def __init__(self, script, delays):
        super().__init__(script)
        self.delays = delays
        self.answered = []

    async def rollouts(self, problem, prefix, n):
        for _ in range(self.delays.get(prefix.text, 0)):
            await asyncio.sleep(0)
        found = await super().rollouts(problem, prefix, n)
        self.answered.append(prefix.text)
        return found


@given(st.permutations(range(1, 8)), st.integers(1, 8))
def test_the_order_in_which_answers_arrive_leaves_no_trace(delays, first_dead):
    def evidence(delays):
        sampler = SlowSampler(dead_from(first_dead), delays)
        probe = PrefixProbe(sampler, PROBLEM, solution(TEXT[:8]), ROOT, ProbeSettings(k=2))
        asyncio.run(SEARCHES["every-step"](probe))
        return probe.evidence(), sampler.answered

    late = {TEXT[:t]: delay for t, delay in enumerate(delays, 1)}
    rows, arrived = evidence(late)
    assert arrived == sorted(late, key=late.__getitem__)
    assert rows == evidence({})[0]


def test_a_failed_draw_is_raised_when_the_others_have_come_in():
    class Failing(SlowSampler):
        """Answers for one prefix with an error, at once."""

        async def rollouts(self, problem, prefix, n):
            if prefix.text == "ab":
                raise EngineError("prompt too long")
            return await super().rollouts(problem, prefix, n)

    sampler = Failing(dead_from(3), {"a": 5, "abc": 3})
    probe = PrefixProbe(sampler, PROBLEM, solution("abcd"), ROOT, ProbeSettings(k=2))
    with pytest.raises(EngineError, match="too long"):
        asyncio.run(SEARCHES["every-step"](probe))
    assert sampler.answered == ["abc", "a"]
    assert [row.step for row in probe.evidence()] == [0, 2]


def test_all_of_gives_results_in_the_order_asked_and_raises_the_cause_of_a_stop():
    async def wait(turns, result):
        for _ in range(turns):
            await asyncio.sleep(0)
        if isinstance(result, Exception):
            raise result
        return result

    assert asyncio.run(all_of([])) == []
    assert asyncio.run(all_of([wait(3, "a"), wait(1, "b"), wait(2, "c")])) == ["a", "b", "c"]
    with pytest.raises(EngineError, match="dead"):
        asyncio.run(all_of([wait(1, Stopped("end")), wait(3, EngineError("dead")), wait(0, "a")]))


def test_searches_are_found_by_name():
    assert {"every-step", "scan", "binary"} <= set(SEARCHES)

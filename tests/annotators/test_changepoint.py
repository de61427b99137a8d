import asyncio
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tests.annotators.conftest import PROBLEM, ScriptedSampler, chance_script, rollout, solution

from stepmill.annotators.annotate import SearchSettings
from stepmill.annotators.changepoint import CHANNEL, ChangePointSettings, Clues, change_point
from stepmill.annotators.changepoint_model import DEFAULT
from stepmill.annotators.judge import judged_place
from stepmill.annotators.prefix_probe import PrefixProbe
from stepmill.annotators.rollouts import Tally
from stepmill.records import Evidence

ROOT = Tally(c=8, k=16)
TEXT = "abcdefghijklmnopqrstuvwxyz"


def searched(n, script, clues=Clues(), root=ROOT, **settings):  # noqa: B008 (frozen)
    """Search a solution of `n` steps; gives what was found, the evidence and the sampler."""
    sampler = ScriptedSampler(script, policy="completer")
    probe = PrefixProbe(sampler, PROBLEM, solution(TEXT[:n]), root)
    chosen = ChangePointSettings(**settings)
    found = asyncio.run(change_point(probe, chosen, DEFAULT, clues))
    return found, probe.evidence(), sampler


def dead_from(first_dead):
    """The truth: prefixes shorter than `first_dead` always succeed, all others never."""
    return lambda prefix: "+" if len(prefix) < first_dead else "-"


def drawn_k(rows):
    return sum(row.k for row in rows if row.channel == "rollouts")


def drawn(rows):
    return sum(row.k + row.n_truncated + row.n_unknown for row in rows if row.channel == "rollouts")


@given(st.integers(2, 26).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))))
def test_a_clear_fall_is_found_wherever_it_is(case):
    n, first_dead = case
    found, rows, _ = searched(n, dead_from(first_dead))
    assert (found.place, found.stop_reason) == (first_dead - 1, "confident")
    assert sum(found.posterior) == pytest.approx(1)
    assert drawn(rows) <= 24


def test_a_single_step_needs_no_draw():
    found, rows, sampler = searched(1, dead_from(1))
    assert found.place == 0
    assert found.posterior == pytest.approx((1.0,))
    assert sampler.asked == []
    assert [row.channel for row in rows] == [CHANNEL]


def test_the_evidence_holds_the_counts_and_what_was_found():
    found, rows, _ = searched(6, dead_from(4))
    *counted, whole = rows
    steps = [-1 if row.step is None else row.step for row in counted]
    assert steps == sorted(steps)
    assert {row.stop_reason for row in rows} == {"confident"}
    assert {row.policy for row in rows} == {"completer"}
    assert (whole.channel, whole.step, whole.value) == (CHANNEL, None, 3.0)
    detail = json.loads(whole.detail)
    assert detail["posterior"] == pytest.approx(found.posterior, abs=1e-4)
    assert detail["support"] == pytest.approx(found.support, abs=1e-3)
    by_prefix = {
        step + 1: (row.c, (row.k or 0) - (row.c or 0))
        for step, row in zip(steps, counted, strict=True)
    }
    assert {t: tuple(c) for t, c in enumerate(found.counts.tolist()) if sum(c)} == {
        0: (8, 8),
        **by_prefix,
    }


def test_a_success_rate_that_stays_flat_is_given_up_on():
    """Nothing ever succeeds, so no draw tells one place from another."""
    found, rows, _ = searched(8, dead_from(1), root=Tally(c=1, k=64), worth=0.05)
    assert (found.place, found.stop_reason) == (None, "not-worth")
    assert drawn(rows) < 40
    assert rows[-1].value is None


def test_counts_that_fit_no_single_change_are_a_misfit():
    """The problem is nearly always solved, the first prefix never, and the second often again."""
    script = {"a": "-", "ab": "++--"}
    found, _, _ = searched(3, script, root=Tally(c=15, k=16), confidence=0.99)
    assert (found.place, found.stop_reason) == (None, "misfit")
    assert found.support < -3


def test_draws_that_pass_through_a_prefix_spare_others():
    """Eight right draws from the problem begin with the first four of eight steps."""
    drawn = [rollout("-", TEXT[:8]), *(rollout("+", f"abcd{i}") for i in range(8))]

    def cost(drawn):
        sampler = ScriptedSampler(dead_from(5))
        probe = PrefixProbe(sampler, PROBLEM, solution(TEXT[:8]), ROOT, drawn=drawn)
        found = asyncio.run(change_point(probe, ChangePointSettings()))
        assert found.place == 4
        assert sum(found.counts[1:].sum(axis=1)) == drawn_k(probe.evidence())
        return sum(n for n in {text: n for text, n in sampler.asked}.values())

    assert cost(drawn) < cost([])


def test_a_search_goes_on_past_its_confidence_while_draws_tell_much():
    sure, _, _ = searched(8, dead_from(4), finish=0.01)
    soon, _, _ = searched(8, dead_from(4), finish=10)
    assert max(sure.posterior) > max(soon.posterior) >= 0.9


def test_the_budget_ends_a_search():
    found, rows, _ = searched(20, dead_from(11), max_draws=3)
    assert (found.place, found.stop_reason, drawn(rows)) == (None, "budget", 3)


def test_unknown_outcomes_are_not_waited_for_at_one_prefix_for_ever():
    script = {TEXT[:t]: "?" if t == 4 else "+" if t < 3 else "-" for t in range(1, 8)}
    found, rows, _ = searched(8, script)
    assert found.place == 2
    assert max(row.n_unknown for row in rows) <= 4


def test_a_solution_that_is_too_long_is_left_alone():
    sampler = ScriptedSampler({})
    probe = PrefixProbe(sampler, PROBLEM, solution("x" * 65), ROOT)
    found = asyncio.run(change_point(probe, ChangePointSettings()))
    assert (found.place, found.stop_reason, sampler.asked) == (None, "too-long", [])
    assert [row.stop_reason for row in probe.evidence()] == ["too-long"]


def test_a_spent_budget_does_not_undo_confidence():
    found, rows, _ = searched(8, dead_from(4), finish=0, max_draws=12)
    assert (found.place, found.stop_reason, drawn(rows)) == (3, "confident", 12)


def test_a_proven_false_step_bounds_the_place():
    found, _, sampler = searched(12, dead_from(3), Clues(false_step=3))
    assert found.place == 2
    assert all(p == 0 for p in found.posterior[4:])
    assert all(len(prefix) <= 4 for prefix in sampler.prefixes)


def test_a_right_judge_makes_it_cheaper_and_a_wrong_one_changes_nothing_that_is_found():
    def cost(place, clues):
        found, rows, _ = searched(16, dead_from(place + 1), clues)
        assert found.place == place
        return drawn(rows)

    alone = sum(cost(place, Clues()) for place in range(16))
    right = sum(cost(place, Clues(judged=place, reliability=0.8)) for place in range(16))
    assert right < 0.95 * alone
    for place in range(16):
        cost(place, Clues(judged=(place + 5) % 16, reliability=0.95))


def test_a_judge_that_finds_no_error_in_a_wrong_solution_says_nothing():
    asked = [searched(8, dead_from(3), clues)[2].asked for clues in (Clues(), Clues(judged=-1))]
    assert asked[0] == asked[1]


cases = st.fixed_dictionaries(
    {
        "n": st.integers(1, 10),
        "seed": st.integers(0, 50),
        "signs": st.sampled_from(["+-", "+---", "++-?t", "?t", "+++"]),
        "wave": st.integers(1, 6),
        "max_draws": st.integers(1, 30),
        "root": st.builds(Tally, c=st.integers(0, 4), k=st.integers(4, 8)),
        "clues": st.builds(
            Clues,
            false_step=st.none() | st.integers(0, 9),
            judged=st.none() | st.integers(-1, 12),
            reliability=st.floats(0.01, 0.99),
        ),
    }
)


@given(cases)
def test_no_search_leaves_its_solution_or_its_budget(case):
    n, seed, signs = case.pop("n"), case.pop("seed"), case.pop("signs")
    script = chance_script(seed, signs, range(1, 2), "x")
    found, rows, sampler = searched(n, script, **case)
    assert all(TEXT[:n].startswith(text) and 1 <= len(text) < n for text in sampler.prefixes)
    assert drawn(rows) <= case["max_draws"]
    assert (found.place is None) == (found.stop_reason != "confident")
    assert found.place is None or 0 <= found.place < n


class Shuffled(ScriptedSampler):
    """Gives the draws of the script, the newest wave of each request in another order.

    The outcomes are the same, so only the order within a wave differs.
    """

    def __init__(self, script, chance):
        super().__init__(script)
        self.chance, self.had = chance, {}

    async def rollouts(self, problem, prefix, n):
        drawn = list(await super().rollouts(problem, prefix, n))
        had = self.had.get(prefix.text, 0)
        self.had[prefix.text] = n
        tail = drawn[had:]
        self.chance.shuffle(tail)
        return drawn[:had] + tail


@given(st.integers(2, 9), st.integers(0, 30), st.integers(2, 6), st.randoms(use_true_random=False))
def test_the_order_within_a_wave_makes_no_difference(n, seed, wave, chance: random.Random):
    script = chance_script(seed, "+-?", range(1, 2), "x")

    def evidence(sampler):
        probe = PrefixProbe(sampler, PROBLEM, solution(TEXT[:n]), ROOT)
        asyncio.run(change_point(probe, ChangePointSettings(wave=wave)))
        return probe.evidence()

    assert evidence(Shuffled(script, chance)) == evidence(ScriptedSampler(script))


def test_a_configuration_chooses_it_by_its_name():
    search = TypeAdapter(SearchSettings)
    chosen = search.validate_python({"method": "change-point", "confidence": 0.9})
    assert chosen == ChangePointSettings(confidence=0.9)
    with pytest.raises(ValidationError, match="alive"):
        search.validate_python({"method": "change-point", "alive": {"by": "any"}})


@pytest.mark.parametrize(
    ("votes", "place"),
    [([3, 3, 1], 3), ([2, 1, -1], 1), ([-1, -1], None), ([None, 4], 4), ([], None)],
)
def test_the_place_that_most_replies_of_a_judge_name(votes, place):
    detail = json.dumps({"replies": [{"first_error": vote} for vote in votes]})
    assert judged_place(Evidence("s", None, "judge", "p", detail=detail)) == place

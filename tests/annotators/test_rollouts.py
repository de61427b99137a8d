import asyncio
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.annotators.conftest import PROBLEM, QUESTION, ScriptedSampler, rollout, solution

from stepmill.annotators.prefix_probe import PrefixProbe
from stepmill.annotators.rollouts import (
    AliveSettings,
    Probed,
    ProbeSettings,
    Tally,
    prefix_of,
    probe,
    tally,
)
from stepmill.engines.base import Prefix
from stepmill.records import Evidence, Outcome, Verdict

ANY = AliveSettings()
HALF = AliveSettings(by="fraction", threshold=0.5)
BELOW_ROOT = AliveSettings(by="relative", threshold=0.5)
ROOT = Tally(c=3, k=4)


def probed(script, root=ROOT, **settings) -> tuple[Probed, list[int]]:
    """What is found at a prefix with `script`, and how many draws each request asked for."""
    sampler = ScriptedSampler({"ab": script})
    found, drawn = asyncio.run(
        probe(sampler, PROBLEM, Prefix(QUESTION, "ab"), root, ProbeSettings(**settings))
    )
    assert tally(drawn) == found.tally
    return found, [n for _, n in sampler.asked]


@pytest.mark.parametrize(
    ("alive", "root", "k", "needed"),
    [
        (ANY, ROOT, 8, 1),
        (HALF, ROOT, 8, 4),
        (HALF, ROOT, 7, 4),  # 3 of 7 are less than half
        (HALF, ROOT, 1, 1),
        (AliveSettings(by="fraction", threshold=0.07), ROOT, 100, 7),  # 7.000000000000001 in floats
        (AliveSettings(by="fraction", threshold=0.05), ROOT, 8, 1),
        (AliveSettings(by="fraction", threshold=1.0), ROOT, 8, 8),
        (BELOW_ROOT, ROOT, 8, 3),  # half of 3/4 of 8
        (BELOW_ROOT, ROOT, 9, 4),  # 3.375, rounded up
        (BELOW_ROOT, Tally(c=1, k=3), 12, 2),
        (BELOW_ROOT, Tally(c=4, k=4), 8, 4),
        (BELOW_ROOT, Tally(c=0, k=4), 8, 1),
        (BELOW_ROOT, Tally(n_unknown=4), 8, 1),  # no rate to relate to
    ],
)
def test_the_successes_needed_are_counted_exactly(alive, root, k, needed):
    assert alive.needed(k, root) == needed


def test_a_tally_counts_truncated_and_unknown_draws_apart():
    counts = tally([rollout(sign, "x", n_tokens=3) for sign in "++-?tt"])
    assert counts == Tally(c=2, k=3, n_truncated=2, n_unknown=1, tokens=18)
    assert counts.drawn == 6
    assert counts.rate == pytest.approx(2 / 3)


def test_a_tally_without_a_known_outcome_has_no_rate():
    assert tally([rollout("?", "x"), rollout("t", "x")]).rate is None
    assert Tally(c=0, k=5).rate == 0.0


@pytest.mark.parametrize(
    ("script", "alive", "expected"),
    [
        ("-------+", ANY, True),
        ("--------", ANY, False),
        ("++++----", HALF, True),
        ("+++-----", HALF, False),
        ("+++-----", BELOW_ROOT, True),
        ("++------", BELOW_ROOT, False),
    ],
)
def test_a_fixed_probe_asks_once_and_decides_by_its_rule(script, alive, expected):
    found, asked = probed(script, k=8, alive=alive)
    assert (found.alive, found.stop_reason, asked) == (expected, "fixed", [8])


@pytest.mark.parametrize(
    ("script", "settings", "expected"),
    [
        ("+", {}, (True, "success", [2])),  # a wave is a quarter of k
        ("-----+--", {}, (True, "success", [2, 4, 6])),
        ("-", {}, (False, "hopeless", [2, 4, 6, 8])),
        ("-", {"alive": HALF}, (False, "hopeless", [2, 4, 6])),  # 2 left, 4 needed
        ("-", {"alive": HALF, "wave": 1}, (False, "hopeless", [1, 2, 3, 4, 5])),
        ("-+++", {"alive": HALF, "wave": 3}, (True, "success", [3, 6])),
        ("-", {"wave": 100}, (False, "hopeless", [8])),
        ("-", {"k": 1}, (False, "hopeless", [1])),
    ],
)
def test_an_early_probe_stops_when_the_rule_is_decided(script, settings, expected):
    found, asked = probed(script, **{"k": 8, "stop": "early", **settings})
    assert (found.alive, found.stop_reason, asked) == expected


def test_draws_without_an_outcome_are_made_up_for():
    found, asked = probed("?t-+--", k=4)
    assert found == Probed(Tally(1, 4, 1, 1, 60), True, "fixed")
    assert asked == [4, 6]


def test_a_make_up_draw_without_an_outcome_is_made_up_for_again():
    found, asked = probed("?-?-?---", k=4)
    assert (found.tally.k, found.alive, asked) == (4, False, [4, 6, 7])


def test_make_up_draws_end_at_as_many_again():
    found, asked = probed("?" * 8, k=4)
    assert found == Probed(Tally(n_unknown=8, tokens=80), None, "too-few-known")
    assert asked == [4, 8]


@pytest.mark.parametrize(
    ("script", "alive", "expected"),
    [
        ("-???????", ANY, (None, "too-few-known")),
        ("+???????", ANY, (True, "too-few-known")),  # one success is enough, whoever is missing
        ("+???????", HALF, (None, "too-few-known")),
        ("-???-???", ANY, (False, "fixed")),  # half is enough to speak for all
        ("+???-???", HALF, (True, "fixed")),  # 1 of the 2 that are known
    ],
)
def test_a_prefix_is_undecided_only_while_missing_outcomes_could_tell(script, alive, expected):
    found, _ = probed(script, k=4, alive=alive)
    assert (found.alive, found.stop_reason) == expected


ALIVE = st.builds(
    AliveSettings,
    by=st.sampled_from(["any", "fraction", "relative"]),
    threshold=st.sampled_from([0.05, 0.3, 0.5, 0.7, 1.0]),
)
ROOTS = st.integers(0, 8).flatmap(lambda k: st.builds(Tally, c=st.integers(0, k), k=st.just(k)))


@given(
    script=st.text("+-?t", min_size=1, max_size=24),
    k=st.integers(1, 12),
    wave=st.integers(0, 13),
    alive=ALIVE,
    root=ROOTS,
)
def test_stopping_early_gives_the_answer_of_all_draws_for_no_more_of_them(
    script, k, wave, alive, root
):
    fixed, asked = probed(script, root, k=k, alive=alive)
    early, asked_early = probed(script, root, k=k, alive=alive, stop="early", wave=wave)
    assert early.alive == fixed.alive
    assert asked_early[-1] <= asked[-1] <= 2 * k
    assert early.tally.c <= early.tally.k <= fixed.tally.k <= k
    assert asked_early == sorted(set(asked_early))


def test_a_probe_of_a_solution_asks_each_prefix_once_and_gives_one_row_for_it():
    sampler = ScriptedSampler({"a": "+++-", "abc": "-t--"}, policy="completer")
    text = solution("abcd")
    probe_of_text = PrefixProbe(sampler, PROBLEM, text, ROOT, ProbeSettings(k=4))

    async def search():
        assert await probe_of_text.alive(3) is False
        assert await probe_of_text.alive(1) is True
        assert await probe_of_text.alive(3) is False

    asyncio.run(search())
    assert probe_of_text.n_steps == 4
    assert sampler.asked == [("abc", 4), ("abc", 5), ("a", 4)]
    row = partial(Evidence, text.id, channel="rollouts", policy="completer")
    assert probe_of_text.evidence() == [
        row(step=0, value=0.75, c=3, k=4, cost_tokens=40, stop_reason="fixed"),
        row(
            step=2,
            value=0.0,
            c=0,
            k=4,
            n_truncated=1,
            cost_tokens=50,
            stop_reason="fixed",
        ),
    ]


@pytest.mark.parametrize("t", [-1, 0, 4, 5])
def test_the_bare_problem_and_the_whole_solution_are_never_probed(t):
    sampler = ScriptedSampler({})
    probe_of_text = PrefixProbe(sampler, PROBLEM, solution("abcd"), ROOT, ProbeSettings())
    with pytest.raises(ValueError, match=f"prefix {t} of a solution of 4 steps"):
        asyncio.run(probe_of_text.alive(t))
    assert sampler.asked == []


def test_a_prefix_is_the_text_of_its_steps_with_the_tokens_that_it_came_from():
    text = solution("abcd")
    assert prefix_of(PROBLEM, text, 2) == Prefix(QUESTION, "ab", text.token_ids)
    assert prefix_of(PROBLEM, text, 0) == Prefix(QUESTION)


def test_a_known_outcome_counts_even_where_the_text_was_cut():
    cut = rollout("t", "x")
    checked = type(cut)(cut.completion, Outcome(Verdict.INCORRECT, "3", "number"))
    assert tally([checked]) == Tally(c=0, k=1, tokens=10)

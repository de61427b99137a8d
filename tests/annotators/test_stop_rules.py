import asyncio
import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.annotators.conftest import PROBLEM, ScriptedSampler

from stepmill.annotators.rollouts import ProbeSettings, Tally, probe
from stepmill.annotators.stop_rules import posterior_test, sequential_test
from stepmill.engines.base import Prefix
from stepmill.pipelines.rollout_rules import rate

ROOT = Tally(c=8, k=14)  # a mean of 9/16 under a uniform prior


def probed(script, root=ROOT, **settings):
    sampler = ScriptedSampler({"a": script})
    prefix = Prefix(PROBLEM.question, "a")
    found, _ = asyncio.run(probe(sampler, PROBLEM, prefix, root, ProbeSettings(**settings)))
    return found


def test_walds_test_by_hand():
    """At rates 1/2 and 1/4 a success doubles the odds and a failure takes a third of them away."""
    assert sequential_test(4, 4, 0.5, 0.25, error=0.1) is True  # 16 : 1, at least 9 : 1
    assert sequential_test(3, 3, 0.5, 0.25, error=0.1) is None  # 8 : 1
    assert sequential_test(0, 5, 0.5, 0.25, error=0.1) is None  # 32 : 243, about 1 : 7.6
    assert sequential_test(0, 6, 0.5, 0.25, error=0.1) is False  # 64 : 729, about 1 : 11
    assert sequential_test(0, 1, 0.5, 0.25, error=0.5) is False


def test_the_posterior_test_by_hand():
    """Of k successes in k draws the posterior is x^k; it lies above 1/2 with 1 - 1/2^(k + 1)."""
    assert posterior_test(3, 3, 0.5, error=1 / 15) is True
    assert posterior_test(2, 2, 0.5, error=1 / 15) is None
    assert posterior_test(0, 3, 0.5, error=1 / 15) is False


@pytest.mark.parametrize("stop", ["sprt", "beta"])
def test_a_clear_prefix_stops_early_and_says_why(stop):
    alive = probed("+", stop=stop, k=16, wave=1)
    dead = probed("-", stop=stop, k=16, wave=1)
    assert (alive.alive, alive.stop_reason) == (True, "likely-alive")
    assert (dead.alive, dead.stop_reason) == (False, "likely-dead")
    assert max(alive.tally.k, dead.tally.k) < 10


@pytest.mark.parametrize("stop", ["sprt", "beta"])
def test_draws_that_do_not_decide_end_at_the_limit_with_what_is_likelier(stop):
    found = probed("+--", stop=stop, k=4, wave=1, error=0.001)
    assert (found.tally.k, found.stop_reason) == (4, "limit")
    assert found.alive is True


def test_too_few_known_draws_decide_nothing():
    found = probed("?", stop="sprt", k=4)
    assert (found.alive, found.stop_reason) == (None, "too-few-known")


@given(
    script=st.text("+-?t", min_size=1, max_size=24),
    stop=st.sampled_from(["fixed", "early", "sprt", "beta"]),
    k=st.integers(1, 12),
    wave=st.integers(0, 13),
    root=st.builds(Tally, c=st.integers(0, 4), k=st.integers(4, 8)),
)
def test_no_stop_rule_exceeds_its_draws(script, stop, k, wave, root):
    found = probed(script, root, stop=stop, k=k, wave=wave)
    assert found.tally.k <= k
    assert found.tally.drawn <= 2 * k
    assert found.stop_reason


@pytest.mark.parametrize("stop", ["sprt", "beta"])
@pytest.mark.parametrize(("rate", "alive"), [(0.6, True), (0.02, False)])
def test_wrong_decisions_are_as_rare_as_wanted(stop, rate, alive):
    chance = random.Random(4)
    wrong = 0
    for _ in range(300):
        script = "".join(chance.choices("+-", (rate, 1 - rate), k=40))
        wrong += probed(script, stop=stop, k=40, wave=1).alive is not alive
    assert wrong <= 0.06 * 300


@pytest.mark.parametrize("stop", ["fixed", "early", "sprt", "beta"])
def test_soft_labels_are_right_on_average_however_the_draws_were_stopped(stop):
    """Success rates are uniform in [0, 1], so among prefixes with the same label their mean is it.

    c / k is not: of draws that end with the first success, its mean is too high.
    """
    chance = random.Random(7)
    rows = []
    for _ in range(1500):
        true = chance.random()
        script = "".join(chance.choices("+-", (true, 1 - true), k=16))
        found = probed(script, stop=stop, k=8, wave=1)
        rows.append((true, found.tally.c, found.tally.k, found.stop_reason))
    frame = pl.DataFrame(rows, schema=["true", "c", "k", "stop_reason"], orient="row")
    smooth = "always" if stop == "fixed" else "auto"
    soft = frame.with_columns(soft=rate("c", "k", "stop_reason", smooth))
    assert soft["soft"].mean() == pytest.approx(soft["true"].mean(), abs=0.02)
    for _, group in soft.group_by("c", "k"):
        if group.height >= 100:
            assert group["soft"][0] == pytest.approx(group["true"].mean(), abs=0.06)
    if stop == "early":
        excess = soft.select((pl.col("c") / pl.col("k") - pl.col("true")).mean()).item()
        assert excess > 0.1

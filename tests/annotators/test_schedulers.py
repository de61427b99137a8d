"""What holds for every search, whatever the rollouts say and whenever they arrive."""

import asyncio
import random

from hypothesis import given
from hypothesis import strategies as st
from tests.annotators.conftest import PROBLEM, ScriptedSampler, chance_script, letters

from stepmill.annotators.annotate import Annotator, SolutionSettings, StepSearchSettings
from stepmill.annotators.changepoint import ChangePointSettings
from stepmill.annotators.omegaprm import OmegaPRMSettings

STOPS = st.sampled_from(["fixed", "early", "sprt", "beta"])
SEARCHES = st.one_of(
    st.builds(
        StepSearchSettings,
        method=st.sampled_from(["every-step", "scan", "binary"]),
        k=st.integers(1, 5),
        stop=STOPS,
        wave=st.integers(0, 3),
    ),
    st.builds(
        OmegaPRMSettings,
        k=st.integers(1, 4),
        stop=STOPS,
        searches=st.integers(1, 4),
        budget=st.integers(1, 12),
    ),
    st.builds(
        ChangePointSettings,
        wave=st.integers(1, 4),
        max_draws=st.integers(1, 12),
        confidence=st.sampled_from([0.6, 0.95]),
    ),
)


class DelayedSampler(ScriptedSampler):
    """Answers as its script says, each request after a number of turns that chance decides.

    The outcomes are those of the script; only the order in which requests are answered differs.
    """

    def __init__(self, script, chance):
        super().__init__(script)
        self.chance = chance

    async def rollouts(self, problem, prefix, n):
        for _ in range(self.chance.randint(0, 6)):
            await asyncio.sleep(0)
        return await super().rollouts(problem, prefix, n)


def annotated(sampler, search):
    annotator = Annotator(
        solver=sampler,
        completer=sampler,
        segment=letters,
        checker="letters 1",
        solutions=SolutionSettings(n=6),
        search=search,
    )
    return asyncio.run(annotator.annotate(PROBLEM))


def scripted(seed, signs):
    return chance_script(seed, signs, range(1, 7), "abc")


cases = {"seed": st.integers(0, 10_000), "signs": st.sampled_from(["+-", "+---", "++-?t"])}


@given(**cases, search=SEARCHES)
def test_no_search_asks_for_a_prefix_outside_its_solution(seed, signs, search):
    sampler = ScriptedSampler(scripted(seed, signs))
    found = annotated(sampler, search)
    inside = {s.prefix(t) for s in found.solutions for t in range(1, len(s.steps))}
    assert {text for text, _ in sampler.asked if text} <= inside


def most(search, n_steps):
    """Draws from prefixes that a search of one solution may make, those made up for included."""
    if isinstance(search, ChangePointSettings):
        return search.max_draws
    return 2 * search.k * max(0, n_steps - 1)


@given(**cases, search=SEARCHES)
def test_no_search_exceeds_its_budget(seed, signs, search):
    sampler = ScriptedSampler(scripted(seed, signs))
    found = annotated(sampler, search)
    drawn = {text: max(n for t, n in sampler.asked if t == text) for text in sampler.prefixes}
    spent = sum(n for text, n in drawn.items() if text)
    longest = max((len(s.steps) for s in found.solutions), default=0)
    if isinstance(search, OmegaPRMSettings):
        # The budget is looked at between searches: the one under way ends.
        assert spent <= search.budget - 1 + most(search, longest)
    else:
        assert spent <= len(found.solutions) * most(search, longest)


@given(**cases, search=SEARCHES, chance=st.randoms(use_true_random=False))
def test_the_order_in_which_requests_are_answered_leaves_no_trace(
    seed, signs, search, chance: random.Random
):
    at_once = annotated(ScriptedSampler(scripted(seed, signs)), search)
    late = annotated(DelayedSampler(scripted(seed, signs), chance), search)
    assert late == at_once

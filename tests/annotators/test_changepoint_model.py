import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.annotators.changepoint_model import (
    DEFAULT,
    FLOOR,
    MISFIT,
    SHAPES,
    SKILLS,
    Belief,
    Weights,
    fit,
    rates,
)


def only(skill, shape, last=1.0):
    """Weights that leave one skill and one shape, so that posteriors can be worked out by hand."""
    skills = tuple(float(s == skill) for s in SKILLS)
    return Weights(skills, tuple(float(s == shape) for s in SHAPES), last)


FLAT = only(0.4, (0.0, 0.1, 1.0, 1.0))
"""Alive with 0.4 everywhere; with an error, FLOOR + 0.04."""


def test_default_weights_sum_to_one():
    assert sum(DEFAULT.skills) == pytest.approx(1)
    assert sum(DEFAULT.shapes) == pytest.approx(1)
    assert len(set(SHAPES)) == len(SHAPES)


def test_rates_rise_to_the_error_and_fade_after_it():
    found = rates(6)
    assert found.shape == (6, len(SKILLS) * len(SHAPES), 6)
    assert ((found > 0) & (found < 1)).all()
    point = SKILLS.index(0.4) * len(SHAPES) + SHAPES.index((1.0, 0.2, 0.4, 1.0))
    for_error_at_2 = found[2, point]
    alive = [0.4 ** (1 - t / 6) for t in range(6)]
    expected = alive[:3] + [FLOOR + 0.2 * alive[t] * 0.4 ** (t - 3) for t in range(3, 6)]
    assert for_error_at_2 == pytest.approx(expected)


def test_the_posterior_by_hand():
    """Three steps, one success at prefix 1 and one failure at prefix 2, the rates being known."""
    belief = Belief(3, FLAT)
    belief.see(1, 1, 0)
    belief.see(2, 0, 1)
    dead = FLOOR + 0.04
    odds = np.array([dead * (1 - dead), 0.4 * (1 - dead), 0.4 * 0.6])
    assert belief.places() == pytest.approx(odds / odds.sum())


def test_what_a_draw_would_tell_by_hand():
    """Two steps: prefix 1 is alive with the error at 1 and dead with it at 0, as likely."""
    place, gains = Belief(2, FLAT).gains()
    assert place == pytest.approx([0.5, 0.5])

    def entropy(p):
        return -p * np.log2(p) - (1 - p) * np.log2(1 - p)

    dead = FLOOR + 0.04
    expected = entropy((0.4 + dead) / 2) - (entropy(0.4) + entropy(dead)) / 2
    assert gains == pytest.approx([0, expected], abs=1e-5)


def test_a_tilt_changes_where_to_look_and_not_what_is_believed():
    belief = Belief(8, DEFAULT)
    belief.see(0, 8, 8)
    tilt = np.where(np.arange(8) == 1, 0.9, 0.1 / 7)
    before = belief.places()
    plain = belief.gains()[1]
    tilted = belief.gains(tilt)[1]
    assert tilted.argmax() < plain.argmax()
    assert belief.places() == pytest.approx(before)


def test_a_place_that_is_ruled_out_stays_so():
    belief = Belief(3, DEFAULT, np.array([0.5, 0.5, 0.0]))
    belief.see(2, 8, 0)
    assert belief.places()[2] == 0


def test_the_last_step_can_be_an_unlikely_place():
    assert DEFAULT.places(4) == pytest.approx([0.25] * 4)
    assert only(0.4, SHAPES[0], last=0.5).places(3) == pytest.approx([0.4, 0.4, 0.2])
    assert only(0.4, SHAPES[0], last=0.0).places(1) == pytest.approx([1.0])


def test_counts_of_one_fall_support_the_model_and_a_rise_after_it_does_not():
    fall = np.array([(8, 8), (6, 2), (7, 1), (0, 8), (0, 8)])
    rise = np.array([(8, 8), (0, 8), (0, 8), (8, 0), (8, 0)])
    assert Belief.of(fall).support() > 0
    assert Belief.of(rise).support() < MISFIT


counts = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, 16), st.integers(0, 16)), min_size=n, max_size=n)
)


@given(counts, st.randoms(use_true_random=False))
def test_the_order_in_which_counts_arrive_makes_no_difference(seen, chance: random.Random):
    single = [(t, right) for t, (c, w) in enumerate(seen) for right in [1] * c + [0] * w]
    chance.shuffle(single)
    belief = Belief(len(seen))
    for t, right in single:
        belief.see(t, right, 1 - right)
    at_once = Belief.of(np.array(seen))
    assert belief.places() == pytest.approx(at_once.places(), abs=1e-9)
    assert belief.support() == pytest.approx(at_once.support(), abs=1e-6)


@given(counts)
def test_information_is_never_negative_nor_more_than_is_wanting(seen):
    place, gains = Belief.of(np.array(seen)).gains()
    assert place.sum() == pytest.approx(1)
    wanting = -(place * np.log2(np.maximum(place, 1e-300))).sum()
    assert (gains >= 0).all()
    assert (gains <= wanting + 1e-5).all()


def drawn(seed, n_solutions, skill, rise, echo, steps=6, last=True):
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(n_solutions):
        place = chance.integers(0, steps if last else steps - 1)
        alive = [skill ** ((1 - t / steps) ** rise) for t in range(steps)]
        rates = [a if t <= place else echo * a for t, a in enumerate(alive)]
        right = chance.binomial(8, rates)
        found.append(np.stack([right, 8 - right], axis=1))
    return found


def test_what_made_the_counts_is_learned_from_them():
    learned = fit(drawn(1, 150, 0.4, 1.0, 0.2, last=False))
    skill = np.average(SKILLS, weights=learned.skills)
    rise, echo, _, _ = np.average(SHAPES, axis=0, weights=learned.shapes)
    assert skill == pytest.approx(0.4, abs=0.06)
    assert rise == pytest.approx(1.0, abs=0.25)
    assert echo == pytest.approx(0.2, abs=0.05)
    assert learned.last < 0.3
    assert fit(drawn(1, 150, 0.4, 1.0, 0.2)).last == pytest.approx(1, abs=0.4)


def test_little_data_changes_little():
    assert fit([]) == DEFAULT
    one = fit(drawn(1, 1, 0.4, 1.0, 0.2))
    assert np.abs(np.array(one.shapes) - DEFAULT.shapes).max() < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_solutions_makes_no_difference_at_all(seed):
    counts = drawn(seed, 20, 0.4, 1.0, 0.1) + drawn(seed, 5, 0.7, 0.0, 0.0, steps=3)
    mixed = random.Random(seed).sample(counts, len(counts))
    assert fit(mixed) == fit(counts)

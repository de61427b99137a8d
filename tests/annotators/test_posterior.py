from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.annotators.posterior import credible_interval, probability_above

shares = st.floats(0, 1)


@st.composite
def draws(draw):
    k = draw(st.integers(0, 200))
    return draw(st.integers(0, k)), k


@given(shares, st.integers(0, 100))
def test_without_a_success_the_tail_is_a_power(rate, k):
    assert probability_above(rate, 0, k) == pytest.approx((1 - rate) ** (k + 1))


@given(shares, draws())
def test_successes_and_failures_mirror_each_other(rate, ck):
    c, k = ck
    mirrored = 1 - probability_above(1 - rate, k - c, k)
    assert probability_above(rate, c, k) == pytest.approx(mirrored, abs=1e-9)


def test_the_tail_is_the_binomial_sum():
    exact = sum(comb(9, i) * 0.3**i * 0.7 ** (9 - i) for i in range(4))
    assert probability_above(0.3, 3, 8) == pytest.approx(exact)


def test_many_draws_neither_overflow_nor_vanish():
    assert probability_above(0.5, 5000, 10_000) == pytest.approx(0.5, abs=0.01)


def test_eight_failures_bound_the_rate_below_28_percent():
    # 1 - 0.05 ** (1 / 9): the one-sided 95% bound after 8 failures in 8 draws
    assert credible_interval(0, 8, mass=0.9)[1] == pytest.approx(0.2831, abs=1e-4)


@given(draws(), st.floats(0.5, 0.99))
def test_a_credible_interval_holds_its_mass(ck, mass):
    c, k = ck
    low, high = credible_interval(c, k, mass)
    inside = probability_above(low, c, k) - probability_above(high, c, k)
    assert inside == pytest.approx(mass, abs=1e-5)

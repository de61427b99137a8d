"""The door to answer checking: caching, limits, the pool, settings."""

import asyncio

import pytest

from stepmill.verifiers.answers.decisions import NEEDS_ALGEBRA, Decision
from stepmill.verifiers.answers.equivalence import Equivalence
from stepmill.verifiers.answers.policy import AnswerPolicy

INTEGRAL = (r"\int_0^1 x\,dx", r"\frac{1}{2}")


@pytest.fixture(scope="module")
def equivalence():
    found = Equivalence(workers=1)
    yield found
    found.close()


def test_what_needs_algebra_is_decided_in_a_worker(equivalence):
    assert equivalence.decide_here(*INTEGRAL).reason == NEEDS_ALGEBRA
    assert asyncio.run(equivalence.decide(*INTEGRAL)) == Decision(True, "math-verify")
    assert equivalence.decide_all([("5", "5.0"), INTEGRAL, ("5", "6")]) == [
        Decision(True, "number"),
        Decision(True, "math-verify"),
        Decision(False, "number"),
    ]


def test_both_orders_of_a_pair_are_one_job(equivalence):
    first = asyncio.run(equivalence.decide(*INTEGRAL))
    done = equivalence._pool.stats.done
    assert asyncio.run(equivalence.decide(*reversed(INTEGRAL))) == first
    assert equivalence._pool.stats.done == done


def test_without_workers_what_needs_algebra_stays_open():
    forms = Equivalence(workers=0)
    assert asyncio.run(forms.decide(*INTEGRAL)) == Decision(None, "", "undecided")
    assert forms.decide_all([INTEGRAL]) == [Decision(None, "", "undecided")]


def test_markers_on_either_side_are_taken_off():
    forms = Equivalence(workers=0)
    assert forms.decide_here("5 + 5 = 10\n#### 10", r"so it is \boxed{10}").same


def test_the_version_names_the_library_and_the_policy():
    plain, strict = Equivalence(workers=0), Equivalence(AnswerPolicy(bare_percent=False), workers=0)
    assert plain.version != strict.version
    assert plain.version == Equivalence(workers=0).version
    assert "math-verify 0." in Equivalence().version


def test_an_answer_of_absurd_length_is_too_large():
    assert Equivalence(workers=0).decide_here("1", "1" * 3000).reason == "too-large"

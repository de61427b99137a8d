"""How opinions of several readings become one decision."""

import pytest

from stepmill.verifiers.answers.comparison import Comparer
from stepmill.verifiers.answers.decisions import NEEDS_ALGEBRA, Decision
from stepmill.verifiers.answers.limits import TooLarge
from stepmill.verifiers.answers.policy import AnswerPolicy


def compare(a, b, algebra=None):
    return Comparer(AnswerPolicy(), algebra).compare(a, b)


def test_the_form_that_decided_is_named():
    pairs = {
        ("5", "6"): "number",
        ("5 cm", "6 m"): "unit",
        ("50%", "0.5"): "percent",
        (r"\sqrt{2}", r"\sqrt{3}"): "expression",
        ("(1,2)", "(2,1)"): "tuple",
        ("x<3", "x>3"): "interval",
        ("yes", "no"): "yes or no",
        ("blue", "5"): "kind",
        ("x", "x"): "text",
    }
    assert {pair: compare(*pair).form for pair in pairs} == pairs


def test_algebra_is_asked_for_what_no_form_reads_and_for_nothing_else():
    asked = []

    def algebra(a, b):
        asked.append((a, b))
        return Decision(True, "algebra")

    assert compare(r"\int x dx", "5", algebra) == Decision(True, "algebra")
    assert compare(r"(1, \int x dx)", "(1, 5)", algebra).same
    assert compare("5", "6", algebra).same is False
    assert compare("5", "a sentence that nobody would take for a formula", algebra).same is None
    assert asked == [(r"\int x dx", "5")] * 2


def test_an_open_part_of_a_group_is_open_for_the_same_reason():
    assert compare(r"(1, \int x dx)", "(1, 5)").reason == NEEDS_ALGEBRA


def test_deep_groups_are_refused():
    deep = "1"
    for _ in range(60):
        deep = f"({deep},2)"
    with pytest.raises(TooLarge):
        compare(deep, deep.replace("1", "3"))


def test_very_many_expressions_are_refused():
    roots = ",".join(rf"\sqrt{{{n}}}" for n in range(2, 60))
    others = ",".join(rf"\sqrt{{{n}}}" for n in range(102, 160))
    with pytest.raises(TooLarge):
        compare(roots, others)

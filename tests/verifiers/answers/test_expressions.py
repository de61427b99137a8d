"""Expressions: read whole or refused, and never evaluated."""

from fractions import Fraction

import pytest

from stepmill.verifiers.answers.clean import clean
from stepmill.verifiers.answers.expressions import parse
from stepmill.verifiers.answers.limits import TooLarge
from stepmill.verifiers.answers.trees import Num, Op, Sym

X, ONE, TWO = Sym("x"), Num(Fraction(1)), Num(Fraction(2))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("-x^2", Op("neg", (Op("pow", (X, TWO)),))),
        (r"\frac2x", Op("div", (TWO, X))),
        ("2x", Op("mul", (TWO, X))),
        ("2sqrt(x)", Op("mul", (TWO, Op("root", (X, TWO))))),
        (r"\sin^{-1} x", Op("arcsin", (X,))),
        (r"\sin^2 x", Op("pow", (Op("sin", (X,)), TWO))),
        (r"\sin 2x", Op("sin", (Op("mul", (TWO, X)),))),
        (r"\sin x \cos x", Op("mul", (Op("sin", (X,)), Op("cos", (X,))))),
        (r"\log_2 x", Op("logb", (X, TWO))),
        ("sinx", Op("sin", (X,))),
        ("x!", Op("fact", (X,))),
        ("|x|", Op("abs", (X,))),
        ("x_1", Sym("x_1")),
        ("x_{12}", Sym("x_12")),
        ("2pi", Op("mul", (TWO, Sym("π")))),
    ],
)
def test_an_expression_becomes_its_tree(text, tree):
    assert parse(clean(text)) == tree


@pytest.mark.parametrize(
    "text",
    [
        "", "x+", "(x", "x)", "2 3", "cat", "4 cats", "x'", "f(x)", r"\int x", r"\sum_{k=1}^{n} k",
        r"\frac{dy}{dx}", r"\frac{d}{dx} x^2", "x=2", "1,2", r"\sqrt", "since", "x_(1)", "a$b",
        "__import__('os')", r"\unknown{x}",
    ],
)  # fmt: skip
def test_what_is_not_a_whole_expression_is_refused(text):
    assert parse(clean(text)) is None


def test_a_fraction_bar_on_the_line_has_two_readings():
    loose, tight = parse("1/2x"), parse("1/2x", tight=True)
    assert loose == Op("mul", (Op("div", (ONE, TWO)), X))
    assert tight == Op("div", (ONE, Op("mul", (TWO, X))))


@pytest.mark.parametrize(
    "text", ["(" * 50 + "1" + ")" * 50, "-" * 50 + "1", "1+" * 300 + "1", "x^" * 60 + "x"]
)
def test_depth_and_length_are_bounded(text):
    with pytest.raises(TooLarge):
        parse(text)

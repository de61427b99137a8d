"""Equality of expressions: exact, by residues, by digits; and what stays open."""

from fractions import Fraction

import pytest

from stepmill.verifiers.answers.clean import clean
from stepmill.verifiers.answers.digits import evaluate
from stepmill.verifiers.answers.evaluate import NotInField, exact, residue
from stepmill.verifiers.answers.expressions import parse
from stepmill.verifiers.answers.limits import TooLarge
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.answers.sameness import same_value, sign_of_difference
from stepmill.verifiers.answers.trees import Op, Sym


def tree(text):
    found = parse(clean(text))
    assert found is not None, text
    return found


def same(a, b, **policy):
    found = [same_value(tree(x), tree(y), AnswerPolicy(**policy)) for x, y in ((a, b), (b, a))]
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # rational
        (r"\binom{5}{2}", "10", True),
        ("5!", "120", True),
        (r"\sqrt[3]{-8}", "-2", True),
        (r"8^{\frac23}", "4", True),
        (r"\lfloor -2.5 \rfloor", "-3", True),
        ("2^{100}", "1267650600228229401496703205376", True),
        (r"\frac{1}{2004!}", r"\frac{1}{2006!}", False),
        # functions of symbols
        ("n(n+1)/2", r"\frac{n^2+n}{2}", True),
        ("(x+1)^{500}", "(x+1)^{499}(x+1)", True),
        ("x+1", "y+1", False),
        ("R^2", "r^2", False),
        (r"\frac{x^2-1}{x-1}", "x+1", True),
        (r"\sin 2x", r"2\sin x\cos x", True),
        (r"\sin x", r"\cos x", False),
        ("2^{x+1}", r"2 \cdot 2^x", True),
        (r"\ln xy", r"\ln x + \ln y", True),
        # constants that are not rational
        (r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt{2}}{2}", True),
        (r"\sqrt{3+2\sqrt2}", r"1+\sqrt2", True),
        (r"\sin\pi", "0", True),
        (r"\cos\frac{\pi}{3}", r"\frac12", True),
        (r"\frac{\sqrt2}{10^{50}}", r"\frac{\sqrt3}{10^{50}}", False),
        (r"\arctan 1", r"\frac{\pi}{4}", True),
        # complex numbers
        ("i^2", "-1", True),
        (r"e^{i\pi}", "-1", True),
        ("3+4i", "3-4i", False),
        (r"\frac{1}{i}", "-i", True),
        # a logarithm without a base
        (r"\log 100", "2", True),
        (r"\log e", "1", True),
        (r"\log 6", r"\log 2+\log 3", True),
        (r"\log 6", r"\log 2 \cdot \log 3", False),
        # infinities
        (r"-\infty", r"\infty", False),
        (r"+\infty", r"\infty", True),
        (r"\infty", "10^{100}", False),
    ],
)
def test_expressions_are_compared(a, b, expected):
    assert same(a, b) is expected


@pytest.mark.parametrize(
    ("a", "b"), [(r"\sqrt{x^2}", "x"), ("|x|", "x"), ("1/0", "2"), ("0.083...", "1/12")]
)
def test_what_depends_on_the_point_or_is_undefined_stays_open(a, b):
    assert same(a, b) is None


@pytest.mark.parametrize(
    ("exact_form", "decimal", "digits", "expected"),
    [
        ("1/3", "0.3333333333", 8, True),
        ("1/3", "0.333", 8, False),
        ("1/3", "0.333", 3, True),
        (r"\sqrt2", "1.41421356", 8, True),
        (r"\sqrt2", "1.41421357", 8, True),
        (r"\sqrt2", "1.41421359", 8, False),
        (r"\sqrt2", "1.41421356", 0, False),
        (r"\pi", "3.14159", 8, False),
        ("2.71828182845...", "e", 8, True),
        ("0.12345678912", "0.123456789", 8, False),  # two decimals: exactly
    ],
)
def test_a_rounded_decimal_needs_enough_digits(exact_form, decimal, digits, expected):
    assert same(exact_form, decimal, rounded_digits=digits) is expected


def test_a_tolerance_is_a_share_of_the_larger_number():
    assert same("100", "101", relative_tolerance=0.01)
    assert same("100", "102", relative_tolerance=0.01) is False
    assert same(r"\sqrt2", "1.41", relative_tolerance=0.01)


@pytest.mark.parametrize("text", ["9^{9^9}", "99999!", r"\binom{99999}{5}", "10^{-99999}"])
def test_numbers_beyond_the_limits_are_refused(text):
    with pytest.raises(TooLarge):
        same(text, "1")


def test_a_value_that_is_not_rational_has_no_exact_value():
    with pytest.raises(NotInField):
        exact(tree(r"\sqrt{2}"))
    with pytest.raises(NotInField):
        residue(tree(r"\sin x"), 0)
    assert exact(tree("x^2"), {"x": Fraction(3, 2)}) == Fraction(9, 4)


def test_the_imaginary_unit_squares_to_minus_one_modulo_the_prime():
    assert residue(tree("i^2+1"), 0) == 0


@pytest.mark.parametrize("digits", [40, 80])
def test_digits_are_as_many_as_asked_for(digits):
    error = evaluate(Op("sub", (tree(r"\sqrt{2}\sqrt{2}"), tree("2"))), digits)
    assert abs(error) < 10 ** (2 - digits)


def test_the_sign_of_a_difference_is_known_for_real_constants():
    assert sign_of_difference(tree(r"\sqrt2"), tree("1.4")) == 1
    assert sign_of_difference(tree("1/2"), tree("0.5")) == 0
    assert sign_of_difference(tree(r"-\infty"), tree("3")) == -1
    assert sign_of_difference(Sym("x"), tree("3")) is None
    assert sign_of_difference(Sym("i"), tree("3")) is None

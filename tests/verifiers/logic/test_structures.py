"""What is true in a finite structure."""

from fractions import Fraction

import pytest

from stepmill.verifiers.logic.formulas import parse_fol
from stepmill.verifiers.logic.linear import parse_linear
from stepmill.verifiers.logic.structures import Structure, TooMuchWork, holds

SMALL = Structure(
    individuals=("one", "two"),
    constants={"a": "one", "b": "two", "c": "one"},
    relations={"P": frozenset({("one",)}), "R": frozenset({("one", "two")}), "T": frozenset({()})},
    functions={"f": {("one",): "two", ("two",): "one"}},
    numbers={"x": Fraction(2), "y": Fraction(3)},
)


@pytest.mark.parametrize(
    ("formula", "truth"),
    [
        ("P(a) ∧ ¬P(b)", True),
        ("P(b) ∨ T", True),
        ("∀x P(x)", False),
        ("∃x P(x)", True),
        ("∀x (P(x) → ∃y R(x, y))", True),
        ("∃y ∀x R(x, y)", False),
        ("a = c", True),
        ("a ≠ b", True),
        ("f(a) = b", True),
        ("P(f(b))", True),
        ("P(a) ↔ P(b)", False),
        ("P(a) ⊕ P(b)", True),
        ("P(b) → P(a)", True),
    ],
)
def test_formulas_have_their_truth_value(formula, truth):
    assert holds(SMALL, parse_fol(formula)) is truth


@pytest.mark.parametrize(
    ("constraint", "truth"),
    [
        ("x < y", True),
        ("x >= y", False),
        ("2x = y + 1", True),
        ("x != 2", False),
        ("3x <= 2y", True),
        ("y > 2 and x > 2", False),
    ],
)
def test_constraints_have_their_truth_value(constraint, truth):
    assert holds(SMALL, parse_linear(constraint)) is truth


def test_a_formula_with_an_unknown_name_is_an_error():
    with pytest.raises(KeyError):
        holds(SMALL, parse_fol("Q(a)"))


def test_too_many_combinations_are_given_up():
    crowd = Structure(tuple(map(str, range(200))), relations={"R": frozenset()})
    with pytest.raises(TooMuchWork):
        holds(crowd, parse_fol("∀x ∀y ∀z ¬(R(x, y) ∧ R(y, z))"))


def test_a_structure_is_shown_by_what_is_true_in_it():
    assert SMALL.as_dict() == {
        "individuals": ["one", "two"],
        "constants": {"a": "one", "b": "two", "c": "one"},
        "true": ["P(one)", "R(one, two)", "T"],
        "functions": {"f(one)": "two", "f(two)": "one"},
        "numbers": {"x": "2", "y": "3"},
    }

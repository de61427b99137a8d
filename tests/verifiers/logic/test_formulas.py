"""First-order text and FLD symbols, read and written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.verifiers.logic.formulas import parse_fld, parse_fol
from stepmill.verifiers.logic.reading import MAX_CHARACTERS, ParseError
from stepmill.verifiers.logic.syntax import (
    And,
    Atom,
    Const,
    Equal,
    Exists,
    ForAll,
    Iff,
    Implies,
    Not,
    Or,
    Var,
    Xor,
    subformulas,
)
from stepmill.verifiers.logic.writing import to_fld, to_fol

A, B, C = Atom("A"), Atom("B"), Atom("C")
x, a = Var("x"), Const("a")


def test_first_order_text_of_a_rule_is_read():
    rule = parse_fol("∀x (Cat(x) ∧ ¬Dog(x) → Sees(x, bob))")
    expected = Implies(
        And((Atom("Cat", (x,)), Not(Atom("Dog", (x,))))), Atom("Sees", (x, Const("bob")))
    )
    assert rule == ForAll("x", expected)


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("A ∧ B ∨ C", Or((And((A, B)), C))),
        ("A ∨ B → C", Implies(Or((A, B)), C)),
        ("A → B → C", Implies(A, Implies(B, C))),
        ("A → B ↔ C", Iff(Implies(A, B), C)),
        ("¬A ∧ B", And((Not(A), B))),
        ("A ∧ B ⊕ C", Xor(And((A, B)), C)),
        ("A ⊕ B → C", Implies(Xor(A, B), C)),
        ("A ∧ B ∧ C", And((A, B, C))),
        ("(A & B) -> ~C", Implies(And((A, B)), Not(C))),
        ("a = b", Equal(a, Const("b"))),
        ("a ≠ b", Not(Equal(a, Const("b")))),
    ],
)
def test_connectives_bind_in_the_usual_order(text, formula):
    assert parse_fol(text) == formula


def test_a_quantifier_reaches_over_the_next_formula_only():
    assert parse_fol("∃x P(x) ∧ A") == And((Exists("x", Atom("P", (x,))), A))


def test_a_quantifier_with_a_colon_reaches_to_the_end():
    assert parse_fol("∃x: P(x) ∧ A") == Exists("x", And((Atom("P", (x,)), A)))


def test_several_variables_may_follow_one_quantifier():
    assert parse_fol("∀x, y R(x, y)") == parse_fol("∀x ∀y R(x, y)")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A ∨ B ⊕ C", "two ways"),
        ("A ⊕ B ∨ C", "two ways"),
        ("A ⊕ B ⊕ C", "two ways"),
        ("A ↔ B ↔ C", "two ways"),
        ("∀" + ", ".join(f"x{i}" for i in range(500)) + " A", "variables are bound"),
        ("∀x P(x) → Q(x)", "not bound"),
        ("P(y)", "not bound"),
        ("∀x x", "names an individual"),
        ("P(a))", "after the end"),
        ("P(a", "close"),
        ("P(a) Q(a)", "after the end"),
        ("", "the end"),
        ("∀ (P(a))", "name"),
        ("P(a) ; Q(a)", "not understood"),
        ("(" * 500 + "A" + ")" * 500, "nested deeper"),
        ("¬" * 500 + "A", "nested deeper"),
        ("A → " * 500 + "A", "nested deeper"),
        ("f(" * 500 + "a" + ")" * 500, "nested deeper"),
        ("A" * (MAX_CHARACTERS + 1), "at most"),
    ],
)
def test_what_is_no_formula_or_two_is_refused(text, reason):
    with pytest.raises(ParseError, match=reason):
        parse_fol(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("{A}{a}", "A(a)"),
        ("({A} v ¬{B}) -> {C}", "A ∨ ¬B → C"),
        ("(x): ({A}x & {B}x) -> {C}x", "∀x (A(x) ∧ B(x) → C(x))"),
        ("(Ex): {AB}x", "∃x AB(x)"),
        ("(x): {A}x -> (Ex): {B}x", "∀x (A(x) → ∃x B(x))"),
        ("¬({A}{a} & ¬{B}{b})", "¬(A(a) ∧ ¬B(b))"),
    ],
)
def test_fld_symbols_say_the_same_as_first_order_text(text, same):
    assert parse_fld(text) == parse_fol(same)


@pytest.mark.parametrize(
    "text", ["{A}x", "{a}", "{A}{B}", "A(a)", "(x): {A}y", "{A} {a}", "(x) {A}x"]
)
def test_what_is_not_fld_is_refused(text):
    with pytest.raises(ParseError):
        parse_fld(text)


def test_a_written_formula_is_read_back(formula_strategy):
    @given(formula_strategy())
    def check(formula):
        assert parse_fol(to_fol(formula)) == formula

    check()


def test_a_formula_without_equality_is_read_back_from_fld(formula_strategy):
    @given(formula_strategy(functions=False))
    def check(formula):
        if any(isinstance(inner, Equal | Xor) for inner in subformulas(formula)):
            with pytest.raises(ValueError, match="no form in FLD"):
                to_fld(formula)
            return
        renamed = to_fld(formula).replace("x1", "x").replace("x2", "y").replace("x3", "z")
        back = to_fol(parse_fld(renamed))
        assert back == to_fol(formula).replace("x1", "x").replace("x2", "y").replace("x3", "z")

    check()


@given(st.one_of(st.text(), st.text("∀∃xyab(){}¬&v->∧∨→↔⊕=≠,.: EAB{}", max_size=40)))
def test_any_text_is_read_or_refused(text):
    for parse in (parse_fol, parse_fld):
        try:
            parse(text)
        except ParseError:
            continue

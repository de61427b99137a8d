"""What is true when everything that is not proved is false."""

import pytest

from stepmill.verifiers.logic.closed_world import ClosedWorldError, closed_world, false_atoms
from stepmill.verifiers.logic.english import parse_english
from stepmill.verifiers.logic.formulas import parse_fol
from stepmill.verifiers.logic.structures import holds
from stepmill.verifiers.logic.writing import to_fol


def world(text, *claims):
    sentences = [parse_english(s) for s in text.split(". ") if s]
    return closed_world(sentences, [parse_english(claim) for claim in claims])


def test_rules_are_followed_to_the_end():
    found = world("Bob is red. Red things are kind. Kind things are cold. Anne is big")
    assert holds(found, parse_english("Bob is cold"))
    assert not holds(found, parse_english("Anne is cold"))


def test_what_is_not_proved_is_false():
    found = world("Bob is red. If something is red and not kind then it is cold", "Bob is rough")
    assert holds(found, parse_english("Bob is cold"))
    assert holds(found, parse_english("Bob is not rough"))


def test_a_proof_removes_what_rested_on_its_absence():
    found = world(
        "Bob is red. Bob is old. Old things are kind."
        " If something is red and not kind then it is cold"
    )
    assert not holds(found, parse_english("Bob is cold"))


def test_circles_prove_nothing():
    found = world("Red things are kind. Kind things are red. Bob is big")
    assert not holds(found, parse_english("Bob is red"))


def test_relations_join_individuals():
    found = world(
        "The cat sees the dog. If something sees the dog then the dog sees the cat."
        " If something sees the cat then it is cold"
    )
    assert holds(found, parse_english("The dog is cold"))
    assert not holds(found, parse_english("The cat is cold"))


def test_a_name_in_a_claim_alone_belongs_to_the_world():
    assert not holds(world("Bob is red", "Anne is red"), parse_english("Anne is red"))


@pytest.mark.parametrize(
    ("premises", "reason"),
    [
        (["∀x (¬P(x) → P(x))", "Q(a)"], "undefined-under-closed-world"),
        (["∀x (¬P(x) → Q(x))", "∀x (¬Q(x) → P(x))", "R(a)"], "undefined-under-closed-world"),
        (["P(a)", "¬P(a)"], "vacuous-premises"),
        (["P(a)", "∀x (P(x) → ¬Q(x))", "Q(a)"], "vacuous-premises"),
        (["P(a) ∨ Q(a)"], "not-rules"),
        (["∃x P(x)"], "not-rules"),
        (["P(f(a))"], "not-rules"),
        (["∀x ∀y ∀z ∀w R(x, y, z, w)", *[f"P(c{i})" for i in range(20)]], "too-large"),
    ],
)
def test_premises_without_a_closed_world_say_why(premises, reason):
    with pytest.raises(ClosedWorldError, match=reason):
        closed_world([parse_fol(premise) for premise in premises])


def test_false_atoms_are_all_that_is_not_true():
    found = world("Bob is red. Anne is kind")
    shown = {to_fol(formula) for formula in false_atoms(found, [parse_english("Bob is red")])}
    assert shown == {"¬red(Anne)"}

"""Whole arguments: citations, closed worlds, what was not read, and rows of public data sets."""

from collections.abc import Mapping

import pytest

from stepmill.errors import UserError
from stepmill.records import Verdict
from stepmill.verifiers.claims import first_incorrect
from stepmill.verifiers.logic.problems import (
    Claim,
    LogicProblem,
    LogicStep,
    Premise,
    problem_from_dict,
)
from stepmill.verifiers.logic.steps import check_problem
from stepmill.verifiers.logic.texts import english_problem, fld_problem

CORRECT, INCORRECT, UNKNOWN = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNKNOWN


def problem(premises, steps, notation="fol", **options):
    """`premises` is {label: text}; a step is (claim, cites) or (claim, cites, label)."""
    return LogicProblem(
        notation=notation,
        premises=tuple(Premise(label, text) for label, text in premises.items()),
        steps=tuple(LogicStep((Claim(claim),), *rest) for claim, *rest in steps),
        **options,
    )


def reasons(*args, **options):
    return [step.findings[0].reason for step in check_problem(problem(*args, **options))]


def test_a_step_is_judged_from_what_it_cites():
    given = {"fact1": "A → B", "fact2": "A", "fact3": "¬C"}
    steps = [
        ("B", ("fact1", "fact2"), "int1"),
        ("B", ("fact1", "fact3")),
        ("B ∧ ¬C", ("int1", "fact3")),
        ("¬B", ("int1",)),
        ("C", None),
    ]
    assert reasons(given, steps) == ["entailed", "not-entailed", "entailed", "refuted", "refuted"]


def test_the_first_wrong_step_is_the_one_where_reasoning_broke():
    checked = check_problem(
        problem(
            {"p": "A → B", "q": "B → C"},
            [("A", ("p",), "s1"), ("B", ("p", "s1"), "s2"), ("C", ("q", "s2"), "s3")],
        )
    )
    assert first_incorrect(checked) == 0
    assert checked[1].verdict is CORRECT
    assert checked[1].findings[0].detail["rests_on"] == ["s1"]
    assert "rests_on" not in checked[2].findings[0].detail


def test_evidence_shows_core_and_counter_model():
    right, wrong = check_problem(
        problem({"p": "∀x (P(x) → Q(x))", "q": "P(a)"}, [("Q(a)", None), ("Q(b)", None)])
    )
    assert right.findings[0].detail == {"formula": "Q(a)", "core": ["p", "q"]}
    model = wrong.findings[0].detail["counter_model"]
    assert isinstance(model, Mapping)
    assert set(model) == {"individuals", "constants", "true"}
    assert wrong.to_evidence("s1").channel == "verifier:logic"


@pytest.mark.parametrize(
    ("given", "step", "reason"),
    [
        ({"p": "A"}, ("B", ("q",)), "unknown-citation"),
        ({"p": "A"}, ("B ∧", ("p",)), "not-parsed"),
        ({"p": "A ∧"}, ("A", ("p",)), "premises-not-parsed"),
        ({"p": "A ∧", "q": "B"}, ("A", None), "premises-not-parsed"),
        ({"p": "A ∧", "q": "B"}, ("B", None), "entailed"),
        ({"p": "A ∧", "q": "B"}, ("¬B", None), "refuted"),
        ({"p": "P(a)"}, ("P(a, b)", ("p",)), "not-parsed"),
    ],
)
def test_what_was_not_read_is_never_held_against_a_step(given, step, reason):
    assert reasons(given, [step]) == [reason]


def test_a_step_cannot_cite_itself_or_a_later_one():
    assert reasons({"p": "A"}, [("B", ("s1",), "s1"), ("C", ("s3",), "s2"), ("C", (), "s3")]) == [
        "unknown-citation",
        "unknown-citation",
        "not-entailed",
    ]


def test_a_label_that_is_there_twice_cannot_be_cited():
    twice = LogicProblem(
        "fol", (Premise("p", "A"), Premise("p", "B")), (LogicStep((Claim("A"),), ("p",)),)
    )
    assert check_problem(twice)[0].reason == "premises-not-parsed"


def test_a_step_of_two_claims_needs_both():
    steps = (LogicStep((Claim("A"), Claim("B", 4))),)
    checked = check_problem(LogicProblem("fol", (Premise("p", "A"),), steps))[0]
    assert checked.verdict is INCORRECT
    assert [finding.verdict for finding in checked.findings] == [CORRECT, INCORRECT]


def test_an_unknown_notation_is_the_users_mistake():
    with pytest.raises(UserError, match="logic notation"):
        check_problem(problem({}, [("A", ())], notation="latin"))


def test_broken_declarations_leave_everything_unknown():
    steps = [("(p x)", ())]
    assert reasons({}, steps, "smt-lib", declarations="(exit)") == ["not-parsed"]


def test_a_problem_survives_json():
    original = problem({"p": "A"}, [("A", ("p",), "s"), ("B", None)], integers=("n",))
    assert problem_from_dict(original.as_dict()) == original


def test_the_closed_world_makes_false_what_is_not_proved():
    given = {"p": "Bob is red.", "q": "If something is red and not kind then it is cold."}
    steps = [
        ("Bob is not kind.", None),
        ("Bob is kind.", None),
        ("Bob is cold.", ("p", "q")),
        ("Bob is cold.", ("p",)),
        ("Bob is not cold.", None),
    ]
    assert reasons(given, steps, "english", closed_world=True) == [
        "entailed",
        "refuted",
        "entailed",
        "not-entailed",
        "refuted",
    ]
    assert reasons(given, steps[:1], "english") == ["not-entailed"]


def test_a_clash_of_arguments_is_not_false_in_the_closed_world():
    given = {"p": "P(a)"}
    assert reasons(given, [("P(a, b)", None)], closed_world=True) == ["not-parsed"]


def test_an_incomplete_closed_world_says_nothing():
    given = {"p": "Bob is red.", "q": "Bob is a red cat."}
    options = {"notation": "english", "closed_world": True}
    assert reasons(given, [("Bob is red.", None)], **options) == ["premises-not-parsed"]


def test_gold_chains_are_right_step_by_step(excerpts):
    for row in excerpts("prontoqa"):
        asked = row["question"].split("?")[1]
        steps = [*row["explanation"], asked]
        *chain, answer = check_problem(english_problem(row["context"], steps))
        assert {step.verdict for step in chain} == {CORRECT}, row["id"]
        assert answer.verdict is (CORRECT if row["answer"] == "A" else INCORRECT)


def test_each_step_of_a_gold_chain_follows_from_the_two_before_it(excerpts):
    for row in excerpts("prontoqa"):
        texts = row["explanation"]
        labels = {f"s{i}": text for i, text in enumerate(texts)}
        steps = [(texts[i], (f"s{i - 2}", f"s{i - 1}")) for i in range(2, len(texts), 2)]
        assert set(reasons(labels, steps, "english")) == {"entailed"}


def test_a_step_left_out_of_a_gold_chain_is_missed(excerpts):
    for row in excerpts("prontoqa"):
        first, _, *_, last = row["explanation"]
        assert reasons({"s": first}, [(last, ("s",))], "english") == ["not-entailed"]


def test_answers_of_rules_and_facts_are_as_given(excerpts):
    for row in excerpts("proofwriter"):
        asked = row["question"].split("?")[1]
        expected = {"A": "entailed", "B": "refuted", "C": "not-entailed"}[row["answer"]]
        checked = check_problem(english_problem(row["context"], [asked]))[0]
        assert checked.reason in (expected, "vacuous-premises"), row["id"]
        closed = check_problem(english_problem(row["context"], [asked], closed_world=True))[0]
        if row["answer"] != "C":
            assert closed.reason in (expected, "vacuous-premises"), row["id"]
        else:  # under the closed world nothing is open
            assert closed.reason in ("entailed", "refuted", "vacuous-premises")


def test_an_fld_proof_is_checked_line_by_line():
    facts = "fact1: {A}{a} -> {B}{a} fact2: {A}{a} fact3: (x): {B}x -> ¬{C}x"
    proof = """fact1 & fact2 -> int1: {B}{a}; fact3 -> int2: {B}{a} -> ¬{C}{a};
        int1 & fact2 -> int3: {C}{a}; void -> assump1: {C}{a}; [assump1] & int3 -> int4: ¬{C}{a};
        int1 & int2 -> hypothesis;"""
    checked = check_problem(fld_problem(facts, proof, hypothesis="¬{C}{a}"))
    assert [step.reason for step in checked] == [
        "entailed",
        "entailed",
        "not-entailed",
        "assumption",
        "assumption",
        "entailed",
    ]

"""Problems out of whole texts."""

import pytest

from stepmill.records import Verdict
from stepmill.verifiers.logic.reading import ParseError
from stepmill.verifiers.logic.steps import check_problem
from stepmill.verifiers.logic.texts import english_problem, fld_problem


def test_what_is_asked_is_no_premise():
    question = "Max is a cat. Cats are kind. Is the following statement true? Max is cold."
    assert [p.text for p in english_problem(question, []).premises] == [
        "Max is a cat.",
        "Cats are kind.",
    ]


@pytest.mark.parametrize(
    "asking", ["True or false: Max is cold.", "Prove: Max is cold.", "Query: x."]
)
def test_what_is_to_be_proved_is_no_premise(asking):
    found = english_problem(f"Max is a cat. {asking} Max is cold.", [])
    assert [p.text for p in found.premises] == ["Max is a cat."]
    assert found.complete


def test_a_sentence_of_the_question_that_is_not_read_leaves_it_incomplete():
    problem = english_problem("Max is a cat. Once upon a time cats were kind.", ["Max is kind."])
    assert not problem.complete
    assert check_problem(problem)[0].reason == "premises-not-parsed"


def test_each_sentence_of_a_step_is_a_claim_with_its_place():
    step = english_problem("", ["Max is a cat.  So, Max is kind!"]).steps[0]
    assert [(c.text, c.start) for c in step.claims] == [
        ("Max is a cat.", 0),
        ("So, Max is kind!", 15),
    ]


def test_a_step_with_a_sentence_that_is_not_read_is_not_called_correct():
    steps = ["Max is a cat. This is plain to see."]
    checked = check_problem(english_problem("Max is a cat.", steps))[0]
    assert checked.verdict is Verdict.UNKNOWN
    assert [finding.verdict for finding in checked.findings] == [Verdict.CORRECT, Verdict.UNKNOWN]


def test_a_line_of_a_proof_that_is_too_long_is_refused():
    with pytest.raises(ParseError, match="at most"):
        fld_problem("fact1: {A}", "fact1" + " " * 100_000 + "{A}")


def test_a_proof_in_another_form_is_refused():
    with pytest.raises(ParseError, match="premises -> label"):
        fld_problem("fact1: {A}", "so {A}")

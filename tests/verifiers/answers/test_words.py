"""Choices, yes and no, answers that say there is none, and names."""

import pytest

from stepmill.verifiers.answers.equivalence import Equivalence
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.answers.words import Choice, read_choice

FORMS = Equivalence(workers=0)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("A", "(A)", True),
        ("A", "a", True),
        ("(C)", "D", False),
        ("C", "C. 42", True),
        ("42", "C. 42", True),
        ("B", r"\boxed{\textbf{(B)}\ 12}", True),
        ("(A) 12", "(B) 12", False),
        ("(A) 12", "(A) 13", None),  # one of them is no option
        ("B", "option B", True),
        ("B", "12", None),
        ("B", "blue", None),
        ("Yes", "No", False),
        ("No", "no.", True),
        ("Yes", "Yes, because it is even.", True),
        ("Yes", "True", True),
        ("True", "False", False),
        ("yes", "5", False),
        ("no solution", "no solutions", True),
        ("no solution", r"\emptyset", True),
        ("DNE", "does not exist", True),
        ("DNE", "no solution", None),
        ("undefined", "0", False),
        ("0", "no solution", False),
        ("42", "I don't know", False),
        ("cannot be determined", "not enough information", True),
        ("Paris", "paris", True),
        ("Paris", "London", False),
        (r"\mathrm{even}", r"\text{Even}", True),
        ("the ellipse", "an ellipse", True),
        ("east", "due east", None),
        ("ellipse", "ellipses", True),
        ("Room 5", "room 6", False),
        ("cat", "act", False),
        ("xyz", "zyx", True),
        ("ab", "ba", True),
        ("5", "blue", False),
        ("5", "Tom has 3 apples and Jerry has 2", None),
        ("5", "the number of ways to do this must then be five or so", None),
    ],
)
def test_words_are_compared(a, b, expected):
    found = FORMS.decide_here(a, b), FORMS.decide_here(b, a)
    assert [d.same for d in found] == [expected, expected]


@pytest.mark.parametrize(
    ("a", "b", "before", "policy"),
    [
        ("Yes", "True", True, {"yes_is_true": False}),
        ("no solution", r"\emptyset", True, {"empty_set_is_no_solution": False}),
        ("Paris", "paris", True, {"ignore_case": False}),
        ("B", "12", None, {"letter_and_value": "different"}),
    ],
)
def test_the_policy_decides_disputable_words(a, b, before, policy):
    assert FORMS.decide_here(a, b).same is before
    assert Equivalence(AnswerPolicy(**policy), workers=0).decide_here(a, b).same is False


def test_declining_to_answer_is_never_right():
    assert FORMS.decide_here("I don't know", "I don't know").same is False


def test_nothing_is_wrong_and_no_reference_is_unknown():
    assert FORMS.decide_here("5", "").same is False
    assert FORMS.decide_here("", "").same is False
    assert FORMS.decide_here("", "5").reason == "no-reference"


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("A", Choice("A", "")),
        ("[D]", Choice("D", "")),
        ("(B) 12", Choice("B", "12")),
        ("C: red", Choice("C", "red")),
        ("answer e", Choice("E", "")),
        ("K", None),
        ("apple", None),
        ("a b", None),
        ("A + B", None),
    ],
)
def test_a_choice_is_a_letter_alone_or_before_its_text(text, choice):
    assert read_choice(text) == choice

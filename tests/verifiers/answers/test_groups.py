"""Tuples, sets, lists, vectors, matrices, and both signs."""

import pytest

from stepmill.verifiers.answers.equivalence import Equivalence
from stepmill.verifiers.answers.groups import MAX_ITEMS, split_list, split_top
from stepmill.verifiers.answers.limits import TooLarge
from stepmill.verifiers.answers.policy import AnswerPolicy

FORMS = Equivalence(workers=0)


def matrix(*rows, kind="pmatrix"):
    body = r" \\ ".join(" & ".join(row.split()) for row in rows)
    return rf"\begin{{{kind}}} {body} \end{{{kind}}}"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("(1,2)", "(1, 2)", True),
        ("(1,2)", "(2,1)", False),
        ("(1/2, 3)", "(0.5, 3)", True),
        ("(1,2,3)", "(1,2)", False),
        (r"(3, \frac{\pi}{2})", r"\left(3,\pi/2\right)", True),
        (r"\{1,2,3\}", r"\{3,2,1\}", True),
        (r"\{1,2\}", r"\{1,1,2\}", True),
        (r"\{1,2\}", r"\{1,2,3\}", False),
        ("1,2,3", "3,2,1", True),
        ("2,2,3", "2,3", False),
        ("1 and 2", "2, 1", True),
        ("1, 2 and 3", r"\{1,2,3\}", True),
        ("1,2", "(1,2)", True),
        ("2,1", "(1,2)", False),
        (r"\{1,2\}", "(1,2)", False),
        ("(0,1)", r"\{0,1\}", False),
        ("[0,1)", "(0,1]", False),
        ("5", r"\{5\}", True),
        ("5", "5, 10", False),
        ("1,234", "1234", True),
        ("1,234", "1, 234", True),
        ("1,5", "1.5", None),  # a decimal comma?
        ("red, blue", "blue and red", True),
        ("A, C", "C, A", True),
        (r"\pm 2", "2, -2", True),
        (r"\pm 2", "2", False),
        (r"1 \pm \sqrt{19}", r"1-\sqrt{19}, 1+\sqrt{19}", True),
        (r"\frac{1\pm\sqrt5}{2}", r"\frac{1+\sqrt5}{2}, \frac{1-\sqrt5}{2}", True),
        (r"\{1\pm\sqrt{5},-2\}", r"\{-2, 1+\sqrt5, 1-\sqrt5\}", True),
        (r"2 \mp 1", "1, 3", True),
        (matrix("1 2", "3 4"), matrix("1 2", "3 4", kind="bmatrix"), True),
        (matrix("1 2", "3 4"), matrix("1 2", "4 3"), False),
        (matrix("1/2", "3"), matrix(r"\frac12", "3"), True),
        (matrix("1", "2"), "(1,2)", True),
        (matrix("1", "2"), matrix("1 2"), None),
        (matrix("1 2"), matrix("1 2 3"), False),
        (
            matrix("1 2", "3 4"),
            r"\left[\begin{array}{cc}1 & 2 \\ 3 & 4\end{array}\right]",
            True,
        ),
        (r"\langle 1,2\rangle", "(1,2)", True),
        (r"3\mathbf{i}+4\mathbf{j}", r"3\vec{i}+4\vec{j}", True),
        (r"3\mathbf{i}+4\mathbf{j}", r"4\vec{i}+3\vec{j}", False),
        (r"3\mathbf{i}+4\mathbf{j}", r"\langle 3,4\rangle", True),
        (r"3\mathbf{i}-\mathbf{k}", matrix("3", "0", "-1"), True),
    ],
)
def test_groups_are_compared(a, b, expected):
    found = FORMS.decide_here(a, b), FORMS.decide_here(b, a)
    assert [d.same for d in found] == [expected, expected]


@pytest.mark.parametrize(
    ("a", "b", "policy"),
    [
        ("1,2", "2,1", {"list_order": "given"}),
        ("1,2", "(1,2)", {"bare_list_is_tuple": False}),
        (matrix("1", "2"), "(1,2)", {"vector_is_tuple": False}),
        (r"\langle 1,2\rangle", "(1,2)", {"vector_is_tuple": False}),
    ],
)
def test_the_policy_decides_disputable_groups(a, b, policy):
    assert FORMS.decide_here(a, b).same is True
    assert Equivalence(AnswerPolicy(**policy), workers=0).decide_here(a, b).same is False


def test_an_item_that_nobody_reads_leaves_a_group_open_unless_another_decides():
    unread = r"\int_0^1 x\,dx"
    assert FORMS.decide_here(f"(1, {unread})", f"(1, {unread} + 0)").same is None
    assert FORMS.decide_here(f"(1, {unread})", f"(2, {unread} + 0)").same is False


def test_commas_in_brackets_and_in_numbers_separate_nothing():
    assert split_top("f(1,2),{3,4},5", ",") == ("f(1,2)", "{3,4}", "5")
    assert split_list("x=1,000, 5 and 7,500") == ("x=1,000", "5", "7,500")


def test_a_list_of_very_many_items_is_too_large():
    many = ",".join("x" * (MAX_ITEMS + 1))
    with pytest.raises(TooLarge):
        split_list(many)
    assert FORMS.decide_here(many, "1").reason == "too-large"

"""Equations, inequalities, and parts of the number line."""

import pytest

from stepmill.verifiers.answers.equivalence import Equivalence
from stepmill.verifiers.answers.policy import AnswerPolicy

FORMS = Equivalence(workers=0)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # names and values
        ("5", "x=5", True),
        ("x=5", "5=x", True),
        ("x=5", "y=5", False),
        ("x=5", "x=6", False),
        ("Area = 12", "12", True),
        (r"m\angle A = 30^\circ", "30", True),
        ("(a,b)=(1,2)", "(1,2)", True),
        ("x=3, y=4", "y=4, x=3", True),
        ("x=3, y=4", "x=4, y=3", False),
        ("x=3, y=4", "(3,4)", True),
        ("x=1 or x=2", r"\{1,2\}", True),
        ("x=1, 2", "1, 2", True),
        (r"x=\pm 3", "3, -3", True),
        ("x=1,000", "1000", True),
        ("x = 5+5+1 = 11", "11", True),
        ("3 + 4 = 7", "7", True),
        (r"x \approx 11", "11", True),
        (r"x = 1/3 \approx 0.33", "1/3", True),
        ("f(x)=2x+1", "2x+1", True),
        ("f(x)=2x+1", "f(t)=2t+1", True),
        ("f(x)=2x+1", "f(t)=2t-1", False),
        # equations
        ("y=2x+1", "2x+1", True),
        ("y=2x+1", "y-2x-1=0", True),
        ("y=2x+1", "y=2x-1", False),
        ("2x+4y-3=0", r"y=-\frac{1}{2}x+\frac{3}{4}", True),
        ("x^2/4 + y^2/3 = 1", "x^2/16 + y^2/12 = 1/4", True),
        ("x^2+y^2=4", "x^2+y^2=5", False),
        ("3x-y+13=0", "3x+4y+14=0", False),
        ("2x+3y=6", "3y=6-2x", True),
        ("x+y=5", "5", None),
        ("3x+4y+14=0", "0", None),
        ("x+y=5", "blue", False),
        # inequalities and intervals
        ("x>3", "3<x", True),
        ("x>3", "x<3", False),
        ("x>3", r"x\ge 3", False),
        ("2x>6", "x>3", True),
        ("-x > -1", "x<1", True),
        ("-1<x<2", "(-1,2)", True),
        ("2>x>-1", "(-1,2)", True),
        (r"(-\infty,3]", r"x\le3", True),
        (r"(-\infty,3]", "x<3", False),
        (r"[0,1)", r"0\le x<1", True),
        (r"x\ne0", r"(-\infty,0)\cup(0,\infty)", True),
        (r"\mathbb{R}\setminus\{0\}", r"x\ne 0", True),
        (r"x\ne 1, x\ne 2", r"(-\infty,1)\cup(1,2)\cup(2,\infty)", True),
        ("x<1, x>3", r"(-\infty,1)\cup(3,\infty)", True),
        ("x<1, x>3", r"(-\infty,1)", False),
        ("0<x<3 and 1<x<4", "(1,3)", True),
        ("x<2 or x>3", r"(3,\infty)\cup(-\infty,2)", True),
        ("x>1 and x<3", "(1,3)", True),
        (r"\{x \mid x > 3\}", r"(3,\infty)", True),
        (r"x \in [-2,7]", "[-2,7]", True),
        (r"x \in \{-1\} \cup [0,7)", r"[0,7)\cup\{-1\}", True),
        (r"[0,1)\cup[1,2]", "[0,2]", True),
        (r"[0,1)\cup(1,2]", "[0,2]", False),
        (r"(-\sqrt{3}, \sqrt{3})", r"-\sqrt3 < x < \sqrt3", True),
        ("all real numbers", r"(-\infty,\infty)", True),
        ("y>2x+1", "2x-y+1<0", True),
        ("y>2x+1", "y<2x+1", False),
        (r"y \ge x", "y > x", False),
        ("x>3", "3", False),
    ],
)
def test_relations_are_compared(a, b, expected):
    found = FORMS.decide_here(a, b), FORMS.decide_here(b, a)
    assert [d.same for d in found] == [expected, expected]


def test_the_policy_may_ignore_names():
    assert (
        Equivalence(AnswerPolicy(variable_names="ignore"), workers=0)
        .decide_here("x = 5", "y = 5")
        .same
    )


@pytest.mark.parametrize("text", ["x^2>4", "x+y>3>z", "x<", "a<b<c<d", "x<1, x>3"])
def test_what_is_no_interval_is_not_decided_against_one(text):
    assert FORMS.decide_here(text, "(1,2)").same is not True

"""Dates, clock times and ratios."""

import pytest

from stepmill.verifiers.answers.equivalence import Equivalence
from stepmill.verifiers.answers.policy import AnswerPolicy

FORMS = Equivalence(workers=0)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("July 4, 1776", "4 July 1776", True),
        ("July 4, 1776", "July 14, 1776", False),
        ("July 4", "4th of July", True),
        ("Jan. 5, 2024", "2024-01-05", True),
        ("Tuesday, July 4", "July 4", True),
        ("July 1776", "July 4, 1776", True),
        ("7/4/1776", "July 4, 1776", True),
        ("July 4", "blue", False),
        ("3:30 PM", "15:30", True),
        ("3:30 p.m.", "3:30 PM", True),
        ("3:30 PM", "3:30 AM", False),
        ("3 PM", "3:00 p.m.", True),
        ("3:30", "3:30 PM", True),
        ("3:30", "15:30", None),  # by twelve hours, or one is wrong
        ("12:00 noon", "12:00 PM", True),
        ("midnight", "12:00 am", True),
        ("3:30", "3.5", False),
        ("2:3", "4:6", True),
        ("2:3", "2 to 3", True),
        ("2:3", "3:2", False),
        ("1:2:3", "2:4:6", True),
        ("1:2:3", "1:2:4", False),
        ("2:3", "2/3", True),
        ("2:30", "1:15", None),  # one ratio, two times
        ("12:00", "1:00", False),
    ],
)
def test_times_and_ratios_are_compared(a, b, expected):
    found = FORMS.decide_here(a, b), FORMS.decide_here(b, a)
    assert [d.same for d in found] == [expected, expected]


@pytest.mark.parametrize(
    ("a", "b", "policy"),
    [
        ("7/4/1776", "July 4, 1776", {"date_order": "dmy"}),
        ("July 4", "July 4, 1776", {"missing_unit": False}),
        ("3:30", "3:30 PM", {"missing_unit": False}),
        ("2:3", "2/3", {"ratio_is_fraction": False}),
    ],
)
def test_the_policy_decides_disputable_times(a, b, policy):
    assert FORMS.decide_here(a, b).same is True
    assert Equivalence(AnswerPolicy(**policy), workers=0).decide_here(a, b).same is False


@pytest.mark.parametrize("text", ["13/45/1776", "32 July", "25:70 PM", "0:5"])
def test_impossible_dates_and_times_are_read_as_something_else(text):
    assert FORMS.decide_here(text, "July 4").same is not True

"""Number literals, exactly."""

from fractions import Fraction

import pytest

from stepmill.verifiers.answers.literals import read_literal


def read(text):
    found = read_literal(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "value", "places"),
    [
        ("007", 7, None),
        ("12,345,678", 12345678, None),
        ("1 000 000.5", Fraction(2000001, 2), 1),
        (".5", Fraction(1, 2), 1),
        ("3.0", 3, 1),
        ("3e5", 300000, None),
        ("1.5E-3", Fraction(3, 2000), 4),
        ("7 3/4", Fraction(31, 4), None),
        ("7 and 3/4", Fraction(31, 4), None),
        (r"7\frac{3}{4}", Fraction(31, 4), None),
        (r"7 \frac34", Fraction(31, 4), None),
        (r"0.\overline{3}", Fraction(1, 3), None),
        (r"0.1\overline{6}", Fraction(1, 6), None),
        (r"0.\overline{142857}", Fraction(1, 7), None),
        ("0.(3)", Fraction(1, 3), None),
        (r"0.\bar3", Fraction(1, 3), None),
        ("0.333…", Fraction(1, 3), None),
        ("0.1666…", Fraction(1, 6), None),
        ("0.1212…", Fraction(4, 33), None),
        ("0.999…", 1, None),
    ],
)
def test_a_literal_has_its_exact_value(text, value, places):
    found = read(text)
    assert (found.value, found.places, found.end) == (value, places, len(text))


@pytest.mark.parametrize("text", ["2.718281828…", "0.083…", "1.41421356…"])
def test_dots_without_a_period_leave_the_rest_open(text):
    assert read(text).continues


@pytest.mark.parametrize(("text", "end"), [("1,23", 1), ("5 1234", 1), ("2,3456", 1), ("3e", 1)])
def test_what_is_no_group_of_thousands_ends_the_literal(text, end):
    assert read(text).end == end


def test_an_improper_fraction_after_an_integer_is_no_mixed_number():
    assert read(r"3\frac{5}{2}").value == 3


def test_a_literal_of_absurd_length_is_not_read():
    assert read_literal("7" * 1001) is None

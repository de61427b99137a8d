"""Numbers with units, money, percentages and angles; number words and numerals."""

from fractions import Fraction

import pytest

from stepmill.verifiers.answers.equivalence import Equivalence
from stepmill.verifiers.answers.numberwords import read_based, read_number_words, read_ordinal
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.answers.units import read_unit

FORMS = Equivalence(workers=0)


def same(a, b, **policy):
    forms = Equivalence(AnswerPolicy(**policy), workers=0) if policy else FORMS
    found = forms.decide_here(a, b), forms.decide_here(b, a)
    assert found[0].same == found[1].same
    return found[0].same


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # lengths, areas, volumes, masses, times, speeds
        ("5 cm", "5 centimeters", True),
        ("5 m", "500 cm", True),
        ("5 cm", "5 m", False),
        ("12 inches", "1 foot", True),
        (r"10\text{ m}^2", "10 square meters", True),
        ("100 cm^2", "0.01 m^2", True),
        (r"864 \mbox{ inches}^2", "6 square feet", True),
        ("1 L", "1000 cubic centimeters", True),
        ("5kg", "5000 g", True),
        ("1 hour", "60 minutes", True),
        ("2 hours and 30 minutes", "150 min", True),
        ("6 feet 2 inches", "74 in", True),
        ("72 km/h", "20 m/s", True),
        ("50 mph", "50 miles per hour", True),
        (r"2\sqrt{3}\text{ cm}", r"\sqrt{12}", True),
        (r"3\pi\text{ cm}", r"3\pi", True),
        ("5 V", "5 N", False),
        ("1/2 hour", "30 minutes", True),
        # a letter that touches a number may be a variable
        ("5m", "5", False),
        ("2h", "2h", True),
        ("2k", "2", False),
        # not one another's multiples, nor different things
        ("1 month", "30 days", None),
        ("0 °C", "32 °F", None),
        # money
        ("$18", "18", True),
        ("$5", "5 dollars", True),
        (r"\$1,250.50", "1250.5", True),
        ("$0.75", "75 cents", True),
        ("€20", "20 euros", True),
        ("€20", "$20", False),
        ("£5", "5 pounds", True),
        ("$5/hour", "5 dollars per hour", True),
        ("$2 million", "2,000,000 dollars", True),
        ("$5k", "5000", True),
        ("-$5", "-5", True),
        # percentages
        ("50%", "1/2", True),
        ("12.5%", "12.5 percent", True),
        (r"33\frac{1}{3}\%", "1/3", True),
        ("28/100", "28", False),
        # angles
        ("90 degrees", r"90^\circ", True),
        (r"30^\circ", "60", False),
        (r"\frac{\pi}{6}", r"30^\circ", True),
        (r"\cos 60^\circ", "0.5", True),
        (r"\frac{270}7\text{ degrees}", r"\frac{270}{7}", True),
        (r"\pi\text{ radians}", "180 degrees", True),
        # what is counted
        ("5 apples", "5", True),
        ("5 red apples", "5 apples", True),
        ("5 apples", "5 oranges", None),
        ("5 apples", "6 oranges", False),
        ("10 square units", "10", True),
        # scales and words
        ("2 million", "2000000", True),
        ("2.5 dozen", "30", True),
        ("three", "3", True),
        ("twenty-one", "12", False),
        ("twenty-five cents", "$0.25", True),
        ("two thirds", "2/3", True),
        ("21st", "twenty-first", True),
        ("about 5", "5", True),
        # numerals
        ("1011_2", "1011_{2}", True),
        ("(1011)_{two}", "1011 base 2", True),
        ("52_8", "52_9", False),
        ("1011_2", "11_{10}", None),
    ],
)
def test_quantities_are_compared(a, b, expected):
    assert same(a, b) is expected


@pytest.mark.parametrize(
    ("a", "b", "policy"),
    [
        ("20", "20%", {"bare_percent": False}),
        ("5 cm", "5", {"missing_unit": False}),
        ("$5", "5", {"missing_unit": False}),
        (r"\frac{\pi}{2}", r"90^\circ", {"degrees_are_radians": False}),
        ("third", "3", {"ordinal_is_number": False}),
        ("1011_2", "11", {"bare_base": "digits"}),
        ("1011_2", "1011", {"bare_base": "value"}),
        ("1011_2", "11", {"bare_base": "never"}),
    ],
)
def test_the_policy_decides_disputable_quantities(a, b, policy):
    assert same(a, b) is True
    assert same(a, b, **policy) is False


@pytest.mark.parametrize(
    ("phrase", "dimensions"),
    [
        ("km/h", (("m", 1), ("s", -1))),
        ("miles per hour", (("m", 1), ("s", -1))),
        ("m/s/s", (("m", 1), ("s", -2))),
        ("meters squared", (("m", 2),)),
        ("kg m^2", (("kg", 1), ("m", 2))),
        ("red apples", ()),
    ],
)
def test_a_phrase_of_units_has_its_dimensions(phrase, dimensions):
    unit = read_unit(phrase)
    assert unit is not None
    assert unit.dimensions == dimensions


@pytest.mark.parametrize("phrase", ["units", "%", "and", "apples and pears", "5"])
def test_what_names_no_unit_is_none(phrase):
    assert read_unit(phrase) is None


@pytest.mark.parametrize(
    ("words", "value", "rest"),
    [
        ("two hundred and five", 205, ""),
        ("one hundred five thousand and six", 105006, ""),
        ("nineteen hundred", 1900, ""),
        ("one and a half", Fraction(3, 2), ""),
        ("a dozen eggs", 12, " eggs"),
        ("half", Fraction(1, 2), ""),
        ("three quarters", Fraction(3, 4), ""),
        ("two and three", 2, " and three"),
    ],
)
def test_numbers_in_words_are_read_from_the_front(words, value, rest):
    found = read_number_words(words)
    assert found is not None
    assert (found[0], words[found[1] :]) == (value, rest)


@pytest.mark.parametrize("text", ["red", "a cat", "dozen", "", "5"])
def test_what_begins_with_no_number_word_is_none(text):
    assert read_number_words(text) is None


def test_ordinals_are_read_in_words_and_figures():
    assert [read_ordinal(t) for t in ("third", "21st", "twenty-first", "first base")] == [
        3,
        21,
        21,
        None,
    ]


@pytest.mark.parametrize("text", ["a_1", "x_2", "29_8", "12", "1_1"])
def test_a_symbol_with_an_index_is_no_numeral(text):
    assert read_based(text) is None

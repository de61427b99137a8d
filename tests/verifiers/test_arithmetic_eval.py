from fractions import Fraction

import pytest

from stepmill.verifiers.arithmetic_clauses import resolve
from stepmill.verifiers.arithmetic_eval import (
    DIVISION,
    LOOSE,
    MIXED,
    PERCENT,
    SIGNED_POWER,
    TOWER,
    Unread,
    evaluate,
)
from stepmill.verifiers.arithmetic_tokens import tokenize


def value(text, names=None, other=frozenset()):
    return evaluate(resolve(tokenize(text)), names or {}, other).value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("8 / 4 / 2", 1),
        ("2 - -3", 5),
        ("-2^2", -4),
        ("2^-1", Fraction(1, 2)),
        ("4^(1/2)", 2),
        ("2^3^2", 512),
        ("3!^2", 36),
        ("7 1/2", Fraction(15, 2)),
        (r"\frac{1}{2} + \frac13", Fraction(5, 6)),
        (r"\sqrt{16/9}", Fraction(4, 3)),
        ("2(3)(4)", 24),
        ("25%", Fraction(1, 4)),
        ("0.1 + 0.2", Fraction(3, 10)),
        (r"0.1\overline{6}", Fraction(1, 6)),
        ("2x + y", 11),
    ],
)
def test_the_value_is_exact(text, expected):
    assert value(text, {"x": 4, "y": 3}) == expected


@pytest.mark.parametrize(
    ("text", "notation", "first", "second"),
    [
        ("2 1/2", MIXED, Fraction(5, 2), 1),
        ("6/1/2", DIVISION, 3, 12),
        ("6/2(3)", DIVISION, 9, 1),
        ("-2^2", SIGNED_POWER, -4, 4),
        ("2^3^2", TOWER, 512, 64),
        ("50%", PERCENT, Fraction(1, 2), 50),
    ],
)
def test_a_notation_with_two_readings_is_noted_and_can_be_read_either_way(
    text, notation, first, second
):
    result = evaluate(resolve(tokenize(text)))
    assert result.value == first
    assert notation in result.notations
    assert value(text, other=frozenset({notation})) == second


def test_a_bracket_after_a_space_is_noted():
    assert LOOSE in evaluate(tokenize("5 (3)")).notations
    assert LOOSE not in evaluate(tokenize("5(3)")).notations


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 +", "not-an-expression"),
        ("(1", "not-an-expression"),
        ("1 2", "not-an-expression"),
        ("z", "unknown-name"),
        ("1/0", "division-by-zero"),
        ("0^0", "undefined"),
        ("2^(1/3)", "irrational"),
        (r"\sqrt{2}", "irrational"),
        ("2^(2^20)", "too-large"),
        ("301! + 1", "too-large"),
        ("(" * 60 + "1" + ")" * 60, "too-large"),
        ("9" * 400, "too-large"),
        ("1+" * 300 + "1", "too-large"),
        ("(10^900)^2 * 2", "too-large"),
    ],
)
def test_what_has_no_exact_value_within_the_limits_is_refused_with_the_reason(text, reason):
    with pytest.raises(Unread, match=reason):
        value(text)

"""What rounding says of two sides that differ.

A decimal may be rounded or cut at its last place. A whole number may be so where the text speaks of
rounding; elsewhere that is left open. Decimals inside an expression may have been rounded before:
then the sides may differ by what that moves. All comparisons are exact.
"""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from stepmill.records import Verdict
from stepmill.verifiers.arithmetic_eval import PERCENT, Unread, evaluate
from stepmill.verifiers.arithmetic_sides import Side
from stepmill.verifiers.arithmetic_tokens import CLOSE, NUMBER, OPEN, OPERATOR, Token, Value
from stepmill.verifiers.arithmetic_words import ROUNDS

_CLOSE = Fraction(1, 100)
"""Relative difference that rounded decimals inside an expression may cause."""
_APPROXIMATE = Fraction(1, 10)
"""Relative difference up to which a claim with ≈, or one in a text that rounds, is left open."""
_FLOAT_PLACES = 10
"""A decimal this long comes from floating point, whose last digits are noise."""
_AROUND = 200
"""Characters on both sides of a claim that are searched for words of rounding."""

_NONE: frozenset[str] = frozenset()


def speaks_of_rounding(text: str, start: int, end: int) -> bool:
    """Whether the text around the claim [start, end) speaks of rounding, or of whole things."""
    return ROUNDS.search(text, max(0, start - _AROUND), end + _AROUND) is not None


def shown_rounded(
    exact: Value,
    shown: Value,
    tokens: Sequence[Token],
    rounds: bool,
    other: frozenset[str] = _NONE,
) -> tuple[Verdict, str] | None:
    """What rounding says of a side that shows one number; None when it explains nothing.

    Args:
        exact: value of the other side.
        shown: value of the side.
        tokens: the side.
        rounds: the text speaks of rounding.
        other: notations of the side in their second reading, as for `evaluate`.
    """
    numbers = [token for token in tokens if token.kind == NUMBER]
    if len(numbers) != 1 or any(t.kind == OPERATOR and t.text not in "+-" for t in tokens):
        return None
    number = numbers[0]
    unit = _last_place(number)
    percent = number.percent and PERCENT not in other
    if percent:
        unit /= 100
    gap = abs(Fraction(exact) - shown)
    if number.places < 0:
        return (Verdict.CORRECT, "cut") if gap <= unit else None
    if number.places:
        by_machine = number.places >= _FLOAT_PLACES and gap * 10**9 <= abs(Fraction(shown))
        return (Verdict.CORRECT, "rounded") if gap < unit or by_machine else None
    if gap < unit and (not isinstance(exact, int) or percent):
        return (Verdict.CORRECT, "rounded") if rounds else (Verdict.UNKNOWN, "rounded-to-whole")
    if rounds and isinstance(shown, int) and shown and not percent:
        zeros = len(number.text) - len(number.text.rstrip("0"))
        if gap < 10**zeros:
            return Verdict.CORRECT, "rounded"
    return None


def rounded_inside(
    left: Side,
    right: Side,
    x: Value,
    y: Value,
    rounds: bool,
    names: Mapping[str, Value],
    inexact: Collection[str],
) -> str | None:
    """Whether rounding inside the expressions may explain the difference; returns the reason.

    Args:
        left: side with the value `x`.
        right: side with the value `y`.
        x: exact value.
        y: exact value.
        rounds: the text speaks of rounding.
        names: values of names.
        inexact: names whose value may be rounded.
    """
    gap, size = abs(Fraction(x) - y), max(abs(Fraction(x)), abs(Fraction(y)))
    if gap <= _CLOSE * size:
        if any(token.text in inexact for side in (left, right) for token in side.tokens):
            return "rounded-inside"
        if gap <= _slack(left, x, names) + _slack(right, y, names):
            return "rounded-inside"
    if rounds and gap <= _APPROXIMATE * size:
        return "approximate"
    return "rounded-to-whole" if _term_by_term(left.tokens, right.tokens, names) else None


def _last_place(number: Token) -> Fraction:
    places = number.places if number.places >= 0 else len(number.text.partition(".")[2])
    return Fraction(1, 10**places)


def _slack(side: Side, value: Value, names: Mapping[str, Value]) -> Fraction:
    """How far the value moves when every decimal moves by one unit of its last place."""
    total = Fraction(0)
    for i, token in enumerate(side.tokens):
        if token.kind != NUMBER or token.value is None or not (token.places or token.percent):
            continue
        moved = Token(NUMBER, token.text, token.start, token.end, token.glued)
        moved.percent = token.percent
        moved.value = token.value + _last_place(token)
        try:
            other = evaluate([*side.tokens[:i], moved, *side.tokens[i + 1 :]], names).value
        except Unread:
            continue
        total += abs(Fraction(other) - value)
    return total


def _term_by_term(
    left: Sequence[Token], right: Sequence[Token], names: Mapping[str, Value]
) -> bool:
    """Whether each term on the left is rounded to a whole one: `42/5 + 42/25 = 8 + 1`."""
    parts, wholes = _terms(left), _terms(right)
    if len(parts) < 2 or len(parts) != len(wholes):
        return False
    try:
        pairs = [
            (evaluate(part, names).value, evaluate(term, names).value)
            for part, term in zip(parts, wholes, strict=True)
        ]
    except Unread:
        return False
    return all(
        isinstance(b, int) and (a == b or (not isinstance(a, int) and abs(a - b) < 1))
        for a, b in pairs
    )


def _terms(tokens: Sequence[Token]) -> list[list[Token]]:
    """The terms between additive signs outside brackets, each with its sign."""
    terms: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.kind == OPEN) - (token.kind == CLOSE)
        is_sign = token.kind == OPERATOR and token.text in "+-"
        if is_sign and not depth and terms[-1] and terms[-1][-1].kind != OPERATOR:
            terms.append([])
        terms[-1].append(token)
    return terms

"""Whether two sides of an equation are equal, under every reading a fair reader could give them.

Exact equality is `correct`. A difference is `incorrect` only if no rounding, no second reading of a
notation, no percent sign and no change of unit explains it; if one may, the claim is `unknown` and
the reason names it. All comparisons are exact, also those with a tolerance.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from stepmill.records import Verdict
from stepmill.verifiers.arithmetic_eval import PERCENT, Result, Unread, evaluate
from stepmill.verifiers.arithmetic_rounding import (
    rounded_inside,
    shown_rounded,
    speaks_of_rounding,
)
from stepmill.verifiers.arithmetic_sides import Side
from stepmill.verifiers.arithmetic_tokens import NUMBER, OPERATOR, Token, Value
from stepmill.verifiers.arithmetic_words import MEASURES, SCALES

_MONEY = {"$": "dollar", "\\$": "dollar", "€": "euro", "¢": "cent", "£": "£", "¥": "¥", "₹": "₹"}
_RATIOS = frozenset({
    2, 3, 4, 5, 7, 8, 10, 12, 14, 16, 20, 24, 25, 28, 30, 31, 32, 36, 48, 52, 60, 64, 100, 120, 128,
    144, 168, 180, 360, 365, 366, 400, 1000, 1440, 1760, 3600, 4000, 5280, 8760, 10**4, 10**6,
    10**9,
})  # fmt: skip
"""Between units of one kind, once or squared."""
_COMMON_RATIOS = frozenset({2, 3, 4, 5, 8, 10, 20, 25, 30, 32, 64})
"""Ratios that slips of arithmetic give too: they need two units of one kind to explain a claim."""


@dataclass(frozen=True, slots=True)
class Equation:
    """Two sides that a step states as equal, and where they stand."""

    text: str
    """The step."""
    left: Side
    right: Side
    approximate: bool = False
    """The relation is ≈."""
    in_words: bool = False
    """The relation is a word, such as `equals`."""
    chained: bool = False
    """Another relation stands before the left side."""
    before_exclamation: bool = False
    """A `!` that may be a factorial stands right after the right side."""
    clause_units: Collection[str] = ()
    """Words of the clause that are measures, outside the sides too."""
    ahead: Sequence[Token] = ()
    """Tokens of the clause before the left side, where that is the first of its chain."""
    listed: Sequence[Token] = ()
    """Tokens before the comma that the left side follows."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Verdict on an equation, with both exact values where they exist."""

    verdict: Verdict
    reason: str
    left: Value | None = None
    right: Value | None = None


def compare(
    equation: Equation, names: Mapping[str, Value], inexact: Collection[str] = ()
) -> Comparison:
    """Compares the sides; `names` gives values to names, `inexact` those that may be rounded."""
    left, right = equation.left, equation.right
    try:
        a, b = evaluate(left.tokens, names), evaluate(right.tokens, names)
    except Unread as refusal:
        return Comparison(Verdict.UNKNOWN, str(refusal))
    x, y = a.value, b.value
    if x == y:
        return Comparison(Verdict.CORRECT, "exact", x, y)
    rounds = equation.approximate or speaks_of_rounding(equation.text, left.start, right.end)
    rounding = shown_rounded(x, y, right.tokens, rounds) or shown_rounded(y, x, left.tokens, rounds)
    if rounding:
        return Comparison(*rounding, x, y)
    reason = (
        rounded_inside(left, right, x, y, rounds, names, inexact)
        or _second_reading(equation, a, b, names)
        or _unit_reason(equation, x, y)
    )
    if reason:
        return Comparison(Verdict.UNKNOWN, reason, x, y)
    return Comparison(Verdict.INCORRECT, "mismatch", x, y)


def _second_reading(
    equation: Equation, a: Result, b: Result, names: Mapping[str, Value]
) -> str | None:
    """Whether a notation with two readings explains the difference."""
    left, right = equation.left, equation.right
    met = a.notations | b.notations
    for on_left, on_right, p, q in _readings(left, right, names, met):
        if p == q or (PERCENT in met and shown_rounded(p, q, right.tokens, True, on_right)):
            return "+".join(sorted(on_left | on_right))
    if PERCENT in met and _percent_change(left, right, b.value, names):
        return PERCENT
    if left.prose and left.operators > 1:
        return "words-as-operators"
    if equation.in_words and len(left.tokens) == 3 and left.tokens[1].text in "/-":
        return "part-or-range"  # 2/5 is equal to 12 hectares
    return None


def _readings(
    left: Side, right: Side, names: Mapping[str, Value], met: frozenset[str]
) -> Iterator[tuple[frozenset[str], frozenset[str], Value, Value]]:
    """Values of both sides with one or two notations read the other way, on one side or on both.

    Before them come the notations that were read so on the left, and on the right.
    """
    choices = [frozenset({one}) for one in sorted(met)]
    choices += [frozenset(pair) for pair in combinations(sorted(met), 2)]
    none: frozenset[str] = frozenset()
    for other in choices:
        for on_left, on_right in ((other, none), (none, other), (other, other)):
            try:
                p = evaluate(left.tokens, names, on_left).value
                q = evaluate(right.tokens, names, on_right).value
            except Unread:
                continue
            yield on_left, on_right, p, q


def _percent_change(left: Side, right: Side, y: Value, names: Mapping[str, Value]) -> bool:
    """Whether percents are meant of what precedes (`50 + 10% = 55`), or 25 stands for 25%."""
    numbers = [token for token in left.tokens if token.kind == NUMBER]
    percents = sum(t.percent for t in numbers) + sum(
        t.percent for t in right.tokens if t.kind == NUMBER
    )
    if percents > 2 or _is_share(left) != _is_share(right):
        return True
    try:
        bare = evaluate(left.tokens, names, frozenset({PERCENT})).value
        x = evaluate(left.tokens, names).value
    except Unread:
        return True
    if y in (x * 100, bare * 100) or x == y * 100 or bare == y * 100:
        return True
    tokens = left.tokens
    if len(tokens) >= 3 and tokens[-1].kind == NUMBER and tokens[-1].percent:
        sign, change = tokens[-2].text, tokens[-1].value
        if sign in ("+", "-") and change is not None:
            try:
                base = evaluate(tokens[:-2], names).value
            except Unread:
                return True
            part = base * Fraction(change) / 100
            return y == (base + part if sign == "+" else base - part)
    return False


def _is_share(side: Side) -> bool:
    """Whether a side reckons in percents only, and so perhaps in parts of the other side."""
    return side.operators > 0 and all(t.percent for t in side.tokens if t.kind == NUMBER)


def _unit_reason(equation: Equation, x: Value, y: Value) -> str | None:
    """Whether a change of unit may explain that `x` is not `y`."""
    left, right = equation.left, equation.right
    inside = [*left.units, *right.units]
    named = {
        word for word in (*inside, *equation.clause_units) if word in MEASURES or word in SCALES
    }
    if any(len(unit) == 1 and unit.isalpha() for unit in inside):
        return "unit-or-name"  # 5 m: metres, or five times m
    money = {_MONEY.get(unit, unit.rstrip("s")) for unit in inside if _is_money(unit)}
    own = {unit.rstrip("s") for unit in inside if unit in MEASURES}
    kinds: dict[str, set[str]] = {}
    for word in named & MEASURES.keys():
        kinds.setdefault(MEASURES[word], set()).add(word.rstrip("s"))
    if (
        len(money) > 1
        or any(len(own & kind) > 1 for kind in kinds.values())
        or _mixed_nouns(left)
        or (right.operators and _other_nouns(left, right))
    ):
        return "mixed-units"
    if x and y and (named or money):
        ratio = Fraction(x) / y
        ratio = 1 / ratio if abs(ratio) < 1 else ratio
        if ratio in _RATIOS:
            two_units = any(len(kind) > 1 for kind in kinds.values())
            if two_units or (ratio not in _COMMON_RATIOS and (named or ratio == 100)):
                return "unit-conversion"
    return None


def _is_money(unit: str) -> bool:
    return unit in _MONEY or MEASURES.get(unit) == "money"


def _nouns(side: Side) -> set[str]:
    return {unit.rstrip("s") for unit in side.units if len(unit) > 2}


def _mixed_nouns(side: Side) -> bool:
    """Whether things of different kinds are added: `2 boxes + 3 pens`."""
    adds = any(token.text in "+-" for token in side.tokens if token.kind == OPERATOR)
    return adds and len(_nouns(side)) > 1


def _other_nouns(left: Side, right: Side) -> bool:
    """Whether the sides count different things, as in `7 (5 yaps) = 7 (3 baps)`."""
    before, after = _nouns(left), _nouns(right)
    return bool(before and after) and not before & after

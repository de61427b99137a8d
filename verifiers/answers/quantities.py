r"""Numbers and expressions with what they measure: `5 km/h`, `\$1.50`, `12.5%`, `2\sqrt3` cm.

A plain number or expression is a quantity without a unit. Values stay exact trees; comparing is
left to sameness.py once the units agree.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from stepmill.verifiers.answers.evaluate import folded
from stepmill.verifiers.answers.expressions import parse
from stepmill.verifiers.answers.numberwords import (
    SCALES,
    Based,
    read_number_words,
    read_ordinal,
)
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.answers.sameness import same_value
from stepmill.verifiers.answers.trees import Node, Num, Op
from stepmill.verifiers.answers.units import Unit, is_unit_word, read_unit, same_unit


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value with its unit."""

    value: Node
    unit: Unit | None = None
    """None: a bare number or expression."""
    kind: Literal["", "percent", "degree", "ordinal"] = ""
    """A percentage's value is already divided by 100."""
    glued: bool = False
    """The unit is one letter that touches the number, so that `5m` may be a product too."""
    tight: Node | None = None
    """The other reading of `1/2x`, when there is one."""


_LOOSE_PRODUCT = re.compile(r"[/÷] ?[^-+*/×·]+ ?[A-Za-zα-ω(\\|]")  # `1/2x`
_FUNCTION_NAME = re.compile(r"\\(?!frac|sqrt)[a-z]{2}|(?<![a-z\\])[a-z]{3}")
_GENERIC = re.compile(r"(?:sq\.? |square |cubic )?units?(?: ?\^ ?\{?\d\}?| squared)?|rad(?:ian)?s?")
"""What says only that there is a unit; an angle in radians is a bare number."""
_DEGREE_UNIT = read_unit("degree")
_HUNDREDTH = Num(Fraction(1, 100))
_CURRENCY = re.compile(r"([-+]?) ?(?:US ?)?([$€£¥₹]|USD|EUR|GBP|Rs\.?) ?(.+)")
_PERCENT = re.compile(r"(.+?) ?(?:%|percent|per cent|percentage|pct)", re.I)
_SCALED = re.compile(rf"(.*[\d.)}}]) ?({'|'.join(SCALES)})s?(?![a-z])(?: of)?(.*)", re.I)
_SHORT_SCALE = re.compile(r"([\d.,]+) ?([kKMB])")
_SHORT_SCALES = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}
_UNIT_TAIL = re.compile(r"(.*[\d)}\]π!|…])( ?)((?:/ ?)?[A-Za-zμΩ°$€£¥₹¢\"].*)", re.S)
_ROUGHLY = re.compile(r"(?:approximately|about|roughly|around|almost|exactly|only|≈|~)\s*", re.I)
_PIECE = re.compile(r"(?:,| and|, and)? (?=\d)")
_SIMPLE = re.compile(r"[-+]?[\d.,/ ]*\d[\d.,/ ]*…?|.*(?:\\frac|\^|×|·).*", re.S)


def read_quantities(text: str) -> list[Quantity]:
    """Every reading of `text` as a quantity, the likeliest first; empty when there is none.

    Raises:
        TooLarge: brackets are nested too deeply.
    """
    text = _ROUGHLY.sub("", text, count=1) if text[:1] in "≈~" or text[:1].isalpha() else text
    special = _read_special(text)
    found = [special] if special else []
    if special is None or special.unit is None or _is_letter(text[-2:]):
        plain = _read_plain(text)
        found += [plain] if plain else []
    pounds = [Quantity(q.value, read_unit("£")) for q in found if q.unit and _is_pound(text)]
    return found + pounds


def _is_letter(end: str) -> bool:
    """Whether a text that ends so ends in a single letter, which may be a variable."""
    return end[-1:].isalpha() and not end[:1].isalpha()


def _is_pound(text: str) -> bool:
    return text.lower().endswith(("pound", "pounds"))


def _read_plain(text: str) -> Quantity | None:
    value = parse(text)
    if value is None:
        return None
    if isinstance(value, Op) and value.name == "deg":
        return None  # read as a unit
    tight = parse(text, tight=True) if _LOOSE_PRODUCT.search(text) else None
    return Quantity(folded(value), tight=tight if tight != value else None)


def _read_special(text: str) -> Quantity | None:
    """A quantity with a sign or a word for what it is."""
    percent = _PERCENT.fullmatch(text)
    if percent:
        value = _number(percent[1])
        if value is None:
            return None
        return Quantity(folded(Op("mul", (value, _HUNDREDTH))), kind="percent")
    money = _CURRENCY.fullmatch(text)
    if money:
        return _read_money(money)
    ordinal = read_ordinal(text)
    if ordinal is not None:
        return Quantity(Num(Fraction(ordinal)), kind="ordinal")
    if text[:1].isascii() and text[:1].isalpha():
        return _read_spoken(text)
    scaled = _SCALED.fullmatch(text)
    if scaled:
        value = _number(scaled[1])
        if value is not None:
            scale = Num(Fraction(SCALES[scaled[2].lower()]))
            return _with_unit(Op("mul", (value, scale)), scaled[3].strip())
    return _read_sum(text) or _read_measured(text)


def _read_money(money: re.Match[str]) -> Quantity | None:
    sign, currency, rest = money.groups()
    short = _SHORT_SCALE.fullmatch(rest)
    inner = _read_short_money(short) if short else next(iter(read_quantities(rest)), None)
    if inner is None or inner.kind:
        return None
    unit = currency if inner.unit is None else f"{currency} {_after_number(rest)}"
    value = Op("neg", (inner.value,)) if sign == "-" else inner.value
    return Quantity(folded(value), read_unit(unit))


def _read_short_money(short: re.Match[str]) -> Quantity | None:
    """`5k` in `$5k`."""
    amount = parse(short[1])
    if amount is None:
        return None
    return Quantity(Op("mul", (amount, Num(Fraction(_SHORT_SCALES[short[2]])))))


def _after_number(text: str) -> str:
    tail = _UNIT_TAIL.fullmatch(text)
    return tail[3] if tail else ""


def _read_spoken(text: str) -> Quantity | None:
    """`three apples`, `two thirds`."""
    spoken = read_number_words(text)
    if spoken is None:
        return None
    value, end = spoken
    return _with_unit(Num(value), text[end:].strip(" -"))


def _with_unit(value: Node, unit_text: str) -> Quantity | None:
    if not unit_text or _GENERIC.fullmatch(unit_text):
        return Quantity(value)
    unit = read_unit(unit_text)
    return None if unit is None else Quantity(value, unit)


def _read_sum(text: str) -> Quantity | None:
    """`5 feet 3 inches`, `2 hours and 30 minutes`: smaller and smaller units of one kind."""
    pieces = _PIECE.split(text)
    if len(pieces) < 2:
        return None
    parts = [_read_measured(piece) for piece in pieces]
    known = [q for q in parts if q is not None and q.unit is not None and q.unit.dimensions]
    if len(known) != len(parts):
        return None
    units = [q.unit for q in known if q.unit is not None]
    if len({u.dimensions for u in units}) > 1:
        return None
    if any(small.factor >= large.factor for large, small in pairwise(units)):
        return None
    total = known[0].value
    for part, unit in zip(known[1:], units[1:], strict=True):
        share = Num(unit.factor / units[0].factor)
        total = Op("add", (total, Op("mul", (part.value, share))))
    return Quantity(total, units[0])


def _read_measured(text: str) -> Quantity | None:
    """A number, then a unit or what is counted."""
    tail = _UNIT_TAIL.fullmatch(text)
    if tail is None:
        return None
    number, space, phrase = tail.groups()
    value = _number(number)
    unit = read_unit(phrase)
    if value is None or (unit == _DEGREE_UNIT and _FUNCTION_NAME.search(number)):
        return None  # not the degrees of `\cos 60°`
    if unit is None:
        return Quantity(value) if _GENERIC.fullmatch(phrase) else None
    if unit == _DEGREE_UNIT:
        return Quantity(value, unit, "degree")
    if unit.counted and not (space and _SIMPLE.fullmatch(number) and _is_phrase(phrase)):
        return None
    letters = len(phrase.strip())
    return Quantity(value, unit, glued=letters == 1 and not space and phrase.isalpha())


def _is_phrase(text: str) -> bool:
    """Whether what is counted is told in words, not in variables."""
    words = re.findall(r"[A-Za-z]+", text)
    return all(len(w) > 2 or is_unit_word(w) or w in ("of", "in", "a") for w in words)


def _number(text: str) -> Node | None:
    value = parse(text.strip())
    if value is not None:
        return folded(value)
    spoken = read_number_words(text.strip())
    return Num(spoken[0]) if spoken and spoken[1] == len(text.strip()) else None


def comparable(a: Quantity, b: Quantity) -> bool:
    """False for `5m` and `5`: only the reading of `5m` as a product can decide."""
    return not ((a.glued and b.unit is None) or (b.glued and a.unit is None))


def same_quantity(a: Quantity, b: Quantity, policy: AnswerPolicy) -> bool | None:
    """Compare two quantities, unit by unit.

    Raises:
        TooLarge: a number on the way is beyond the limits.
    """
    if "ordinal" in (a.kind, b.kind) and a.kind != b.kind and not policy.ordinal_is_number:
        return False
    if (a.kind == "degree") != (b.kind == "degree") and (a.unit is None or b.unit is None):
        return _same_angle(a, b, policy)
    units = same_unit(a.unit, b.unit, policy.missing_unit)
    if units is False or (units is None and a.unit and b.unit and _both_measure(a.unit, b.unit)):
        return units
    left, right = a.value, b.value
    if a.unit and b.unit and a.unit.factor != b.unit.factor and units:
        left = folded(Op("mul", (left, Num(a.unit.factor))))
        right = folded(Op("mul", (right, Num(b.unit.factor))))
    same = _same_readings(left, right, a.tight, b.tight, policy)
    if same is False and "percent" in (a.kind, b.kind) and a.kind != b.kind and policy.bare_percent:
        percent, bare = (left, right) if a.kind == "percent" else (right, left)
        same = same_value(percent, folded(Op("mul", (bare, _HUNDREDTH))), policy)
    return None if same and units is None else same


def _both_measure(a: Unit, b: Unit) -> bool:
    return bool(a.dimensions and b.dimensions)


def _same_readings(
    a: Node, b: Node, a_tight: Node | None, b_tight: Node | None, policy: AnswerPolicy
) -> bool | None:
    if a_tight is None and b_tight is None:
        return same_value(a, b, policy)
    found = [
        same_value(x, y, policy)
        for x in (a, a_tight)
        for y in (b, b_tight)
        if x is not None and y is not None
    ]
    return True if True in found else None if None in found else False


def _same_angle(a: Quantity, b: Quantity, policy: AnswerPolicy) -> bool | None:
    """Degrees on one side, a bare number on the other: the same number, or the same angle."""
    degrees, bare = (a.value, b.value) if a.kind == "degree" else (b.value, a.value)
    if policy.missing_unit:
        same = same_value(degrees, bare, policy)
        if same is not False:
            return same
    if not policy.degrees_are_radians:
        return False
    return same_value(Op("deg", (degrees,)), bare, policy)


def same_based(a: Based, b: Based) -> bool | None:
    """Numerals of one base are compared by their digits.

    Of two bases they may mean the same number and still not be what was asked for: not known.
    """
    if a.base == b.base:
        return a.digits == b.digits
    return None if a.value == b.value else False


def same_based_and_bare(based: Based, bare: Quantity, policy: AnswerPolicy) -> bool | None:
    """A numeral with a base and a number without."""
    matches = []
    if policy.bare_base in ("either", "value"):
        matches.append(Fraction(based.value))
    if policy.bare_base in ("either", "digits") and based.digits.isdigit():
        matches.append(Fraction(based.digits))
    return any(same_value(Num(m), bare.value, policy) is True for m in matches)

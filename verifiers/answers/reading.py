"""All the ways in which an answer can be read.

`read` takes canonical text and returns its readings, the likeliest first: `(B) 12` is the option B
and the number 12, `3:30` a time and a ratio. What no form fits is a `Formula`, for computer
algebra, or `Prose`, which nobody reads.
"""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from stepmill.verifiers.answers.expressions import parse
from stepmill.verifiers.answers.groups import (
    Group,
    Matrix,
    both_signs,
    read_group,
    read_matrix,
    split_list,
)
from stepmill.verifiers.answers.literals import MAX_DIGITS, read_literal
from stepmill.verifiers.answers.numberwords import Based, read_based
from stepmill.verifiers.answers.policy import DateOrder
from stepmill.verifiers.answers.quantities import Quantity, read_quantities
from stepmill.verifiers.answers.regions import Region, read_region
from stepmill.verifiers.answers.relations import (
    Equation,
    Inequality,
    Labelled,
    read_equation,
    read_inequality,
)
from stepmill.verifiers.answers.times import Colon, Date, read_colon, read_date
from stepmill.verifiers.answers.trees import Num
from stepmill.verifiers.answers.words import (
    Choice,
    Nothing,
    Prose,
    Words,
    YesNo,
    read_choice,
    read_nothing,
    read_words,
    read_yes_no,
)


@dataclass(frozen=True, slots=True)
class Formula:
    """Mathematics that no form here fits."""

    text: str


Form = (
    YesNo | Nothing | Choice | Words | Prose | Date | Colon | Based | Quantity | Group | Matrix
    | Region | Inequality | Labelled | Equation | Formula
)  # fmt: skip

_NUMBER = re.compile(r"-?\d[\d.,]*")
_FRACTION = re.compile(
    r"(-?)(?:(\d{1,99})/(0*[1-9]\d{0,99})|\\frac\{(-?\d{1,99})\}\{(0*[1-9]\d{0,99})\})"
)
_RELATION = re.compile("[<>≤≥≠∪∖∣ℝ]|all real")
_COMMA_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+")
_LONG_WORD = re.compile(r"(?<!\\)\b[A-Za-z]{3,}")
_MATHS = re.compile(r"[\\^_=+*/\d<>≤≥≠∪∩∈√π∞±{}|∠!]")
_NAME = re.compile(r"[A-Za-z0-9 '.&-]+")  # `Room 5`, `Team A`
_MAX_LONG_WORDS = 4


@lru_cache(maxsize=8192)
def read(text: str, date_order: DateOrder) -> tuple[Form, ...]:
    """Readings of canonical text; there is always one.

    Args:
        text: canonical text, as `clean` makes it.
        date_order: how `7/4/1776` is read.

    Raises:
        TooLarge: it is nested too deeply, or holds too many items.
    """
    if not text.strip():
        return (Prose(text),)
    number = _read_number(text)
    if number is not None:
        if _COMMA_NUMBER.fullmatch(text):
            return (number, Group("list", tuple(text.split(","))))
        return (number,)
    alone = read_yes_no(text) or read_nothing(text) or read_date(text, date_order)
    if alone is not None:
        return (alone,)
    found: list[Form] = [*_read_short(text, date_order)]
    if not found:
        found = _read_compound(text)
    if not found:
        long_words = len(_LONG_WORD.findall(text))
        as_words = long_words > _MAX_LONG_WORDS or not _MATHS.search(text)
        if as_words or (long_words and _NAME.fullmatch(text)):
            return (read_words(text),)
        return (Formula(text),)
    return tuple(found)


def _read_number(text: str) -> Quantity | None:
    """The forms that most answers have, without the way through all others."""
    if text.isdigit() and len(text) <= MAX_DIGITS:
        return Quantity(Num(Fraction(int(text))))
    if _NUMBER.fullmatch(text):
        negative = text[0] == "-"
        literal = read_literal(text, int(negative))
        if literal is not None and literal.end == len(text):
            value = -literal.value if negative else literal.value
            return Quantity(Num(value, literal.places, literal.continues))
        return None
    fraction = _FRACTION.fullmatch(text)
    if fraction is None:
        return None
    top, bottom = (int(n) for n in fraction.groups()[1:] if n is not None)
    value = Fraction(top, bottom)
    return Quantity(Num(-value if fraction[1] else value))


def _read_short(text: str, date_order: DateOrder) -> list[Form]:
    """Forms that are a few characters by their nature."""
    based = read_based(text)
    if based is not None:
        return [based]
    found: list[Form] = []
    colon = read_colon(text)
    if colon is not None:
        found.append(colon)
    choice = read_choice(text)
    if choice is not None:
        found.append(choice)
        if choice.rest:
            found += [
                r for r in read(choice.rest, date_order) if not isinstance(r, (Prose, Formula))
            ]
        elif (symbol := parse(text)) is not None:
            found.append(Quantity(symbol))
    return found


def _read_compound(text: str) -> list[Form]:
    matrix = read_matrix(text) if "\\begin" in text else None
    if matrix is not None:
        return [matrix]
    if _RELATION.search(text):
        region = read_region(text) or read_inequality(text)
        if region is not None:
            return [region]
    if text[0] in "([⦃⟨":
        group = read_group(text)
        if group is not None:
            return [_with_both_signs(group)]
    found: list[Form] = []
    if "=" not in text and "∈" not in text and "±" not in text:
        found += read_quantities(text)
        if found:
            return found if parse(text) is not None else [*found, *_plain_words(text)]
    items = split_list(text)
    if len(items) > 1 and all(items) and not any(_is_told(item) for item in items):
        return [_with_both_signs(Group("list", items)), *_plain_words(text)]
    signed = both_signs(text)
    if len(signed) > 1 and "=" not in text:
        return [Group("list", signed)]
    return [*read_equation(text)]


def _is_told(item: str) -> bool:
    """Whether an item of a list is rather a part of a sentence."""
    return len(_LONG_WORD.findall(item)) > _MAX_LONG_WORDS // 2


def _plain_words(text: str) -> list[Form]:
    """The reading as words, when there are only words: `two thirds`, `red and blue`."""
    if _MATHS.search(text):
        return []
    words = read_words(text)
    return [words] if isinstance(words, Words) else []


def _with_both_signs(group: Group) -> Group:
    if group.kind not in ("set", "list"):
        return group
    return replace(group, items=tuple(s for item in group.items for s in both_signs(item)))

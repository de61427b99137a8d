r"""Number literals as people write them, to exact fractions.

Knows `12,345`, `1 000`, `.5`, `3e5`, `7 3/4`, `0.\overline{3}`, `0.333…`, and numbers in English
words. It knows nothing of units, signs or operators.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

MAX_DIGITS = 1000
"""Longer literals are not read: they are not answers."""

_GROUPED = r"\d{1,3}(?:(?:,\d{3})+|(?: \d{3})+|(?:'\d{3})+)(?!\d|,\d)"
_NUMBER = re.compile(
    rf"(?P<grouped>{_GROUPED})(?P<tail>\.\d+)?"
    r"|(?P<whole>\d*)\.(?P<places>\d*)(?:\\(?:overline|bar|dot)\s*\{?(?P<period>\d+)\}?"
    r"|\((?P<bracketed>\d+)\)|(?P<dots>…))"
    r"|(?P<plain>\d+(?:\.\d+)?|\.\d+)(?:[eE](?P<exponent>[-+]?\d{1,4})(?![\w.]))?"
)
_MIXED = re.compile(r"(\d+)(?: +(?:and )?(\d+) ?/ ?(\d+)(?![\d.])| ?\\frac ?\{(\d+)\} ?\{(\d+)\})")
_MIXED_SHORT = re.compile(r"(\d+) ?\\frac ?(\d) ?(\d)(?!\d)")
_TAIL = re.compile(r"(\d*?)(\d{1,6}?)\2+")


@dataclass(frozen=True, slots=True)
class Literal:
    """A number as written."""

    value: Fraction
    places: int | None
    """Decimal places when it is a decimal; None when it is exact by its form (`7`, `1 1/2`,
    `0.(3)`)."""
    end: int
    """Index after its last character."""
    continues: bool = False
    """It ends in dots and shows no period: only its beginning is known."""


def read_literal(text: str, start: int = 0) -> Literal | None:
    """The unsigned number that begins at `start`, the longest reading; None when there is none."""
    mixed = _MIXED.match(text, start) or _MIXED_SHORT.match(text, start)
    if mixed:
        whole, top, bottom = (int(g) for g in mixed.groups() if g is not None)
        if 0 < top < bottom:  # otherwise it is a product
            return Literal(whole + Fraction(top, bottom), None, mixed.end())
    found = _NUMBER.match(text, start)
    if found is None or found.end() - start > MAX_DIGITS:
        return None
    if found["grouped"]:
        digits = re.sub(r"[, ']", "", found["grouped"]) + (found["tail"] or "")
        return _decimal(digits, 0, found.end())
    if found["plain"]:
        return _decimal(found["plain"], int(found["exponent"] or 0), found.end())
    return _repeating(found)


def _decimal(digits: str, exponent: int, end: int) -> Literal:
    whole, point, places = digits.partition(".")
    shift = exponent - len(places)
    number = int(whole + places)
    value = Fraction(number * 10**shift) if shift >= 0 else Fraction(number, 10**-shift)
    return Literal(value, max(0, -shift) if point else None, end)


def _repeating(found: re.Match[str]) -> Literal:
    whole, places = found["whole"] or "0", found["places"]
    period = found["period"] or found["bracketed"]
    if period is None:
        tail = _TAIL.fullmatch(places)
        copies = (len(places) - len(tail[1])) // len(tail[2]) if tail else 0
        if tail is None or copies < (3 if tail[1] else 2):  # e is 2.718281828…, and repeats nothing
            cut = Fraction(f"{whole}.{places or 0}")
            return Literal(cut, len(places), found.end(), continues=True)
        places, period = tail[1], tail[2]
    scale = 10 ** len(places)
    base = Fraction(int(whole + places), scale)
    return Literal(base + Fraction(int(period), scale * (10 ** len(period) - 1)), None, found.end())

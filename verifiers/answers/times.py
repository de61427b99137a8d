"""Dates, clock times and ratios; the last two are both written with a colon."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from stepmill.verifiers.answers.policy import AnswerPolicy, DateOrder

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTH = {name: i + 1 for i, name in enumerate(_MONTHS)} | {
    name[:n]: i + 1 for i, name in enumerate(_MONTHS) for n in (3, 4)
}
_NAMED = "|".join(sorted(_MONTH, key=len, reverse=True))
_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day,? (?=[a-z]*.*\d)")
_DATES = (
    re.compile(
        rf"(?P<month>{_NAMED})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?"
    ),
    re.compile(
        rf"(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_NAMED})\.?"
        r"(?:,? (?P<year>\d{4}))?"
    ),
    re.compile(rf"(?P<month>{_NAMED})\.?,? (?P<year>\d{{4}})"),
    re.compile(r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})"),
)
_DATE_HINT = re.compile(r"[A-Za-z]{3}.*\d|\d.*[A-Za-z]{3}|\d[-/.]\d")
_SLASHED = re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})")
_CLOCK = re.compile(
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?(?::(?P<second>\d\d))? ?(?P<half>[ap])\.? ?m\.?"
    r"|(?P<hour24>\d{1,2}):(?P<minute24>\d\d)(?::(?P<second24>\d\d))?(?: ?(?:hours|hrs|h))?"
    r"|(?:12(?::00)? )?(?P<word>noon|midnight)",
    re.I,
)
_COLON_HINT = re.compile(r":|\d ?[ap]\.? ?m|noon|midnight| to ", re.I)
_HALF_DAY_S = 43_200
_RATIO = re.compile(r"\d+(?:\.\d+)?(?: ?: ?\d+(?:\.\d+)?)+|\d+(?:\.\d+)?(?: to \d+(?:\.\d+)?)+")


@dataclass(frozen=True, slots=True)
class Date:
    """A day, or a month of a year."""

    month: int
    day: int | None
    year: int | None
    """None: not said."""


@dataclass(frozen=True, slots=True)
class Colon:
    """A clock time, a ratio, or numbers that may be either (`3:30`)."""

    clock: int | None
    """Seconds since midnight, when it can be a clock time."""
    half: Literal["said", "24h", "open"]
    """Which half of the day: a.m. or p.m. is said, it is past 12:59, or neither."""
    ratio: tuple[Fraction, ...]
    """Its numbers divided by the first; empty when it cannot be a ratio."""


def read_date(text: str, order: DateOrder) -> Date | None:
    """A date in words or figures."""
    if not _DATE_HINT.search(text):
        return None
    lowered = _WEEKDAY.sub("", text.lower(), count=1)
    slashed = _SLASHED.fullmatch(lowered)
    if slashed:
        first, second, year = (int(g) for g in slashed.groups())
        return _date(*((first, second) if order == "mdy" else (second, first)), year)
    for pattern in _DATES:
        found = pattern.fullmatch(lowered)
        if found:
            groups = found.groupdict()
            return _date(
                _MONTH.get(groups["month"]) or int(groups["month"]),
                int(groups["day"]) if groups.get("day") else None,
                int(groups["year"]) if groups["year"] else None,
            )
    return None


def _date(month: int, day: int | None, year: int | None) -> Date | None:
    possible = 1 <= month <= 12 and (day is None or 1 <= day <= 31)
    return Date(month, day, year) if possible else None


def read_colon(text: str) -> Colon | None:
    """A clock time or a ratio."""
    if not _COLON_HINT.search(text):
        return None
    clock, half = _read_clock(text)
    ratio: tuple[Fraction, ...] = ()
    if _RATIO.fullmatch(text):
        numbers = [Fraction(n) for n in re.findall(r"[\d.]+", text)]
        ratio = tuple(n / numbers[0] for n in numbers) if all(numbers) else ()
    return Colon(clock, half, ratio) if ratio or clock is not None else None


def _read_clock(text: str) -> tuple[int | None, Literal["said", "24h", "open"]]:
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None, "open"
    if found["word"]:
        return (_HALF_DAY_S if found["word"].lower() == "noon" else 0), "said"
    hour = int(found["hour"] or found["hour24"])
    minute = int(found["minute"] or found["minute24"] or 0)
    second = int(found["second"] or found["second24"] or 0)
    half = (found["half"] or "").lower()
    if minute > 59 or second > 59 or hour > (12 if half else 24):
        return None, "open"
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    known: Literal["said", "24h", "open"] = "said" if half else "24h" if hour > 12 else "open"
    return hour * 3600 + minute * 60 + second, known


def same_date(a: Date, b: Date, policy: AnswerPolicy) -> bool:
    """Equal as far as both say; a missing year or day is a missing unit."""
    pairs = ((a.month, b.month), (a.day, b.day), (a.year, b.year))
    if any(x is not None and y is not None and x != y for x, y in pairs):
        return False
    return policy.missing_unit or (a.day, a.year) == (b.day, b.year)


def same_colon(a: Colon, b: Colon, policy: AnswerPolicy) -> bool | None:
    """Compare as clocks when both can be, else as ratios.

    `2:30` and `1:15` are one ratio and two times: nothing is known.
    """
    if a.clock is not None and b.clock is not None:
        halves = {a.half, b.half}
        if halves == {"said", "open"}:
            return policy.missing_unit and a.clock % _HALF_DAY_S == b.clock % _HALF_DAY_S
        if a.clock == b.clock:
            return True
        if halves == {"24h", "open"} and a.clock % _HALF_DAY_S == b.clock % _HALF_DAY_S:
            return None  # 3:30 and 15:30
        return None if "said" not in halves and a.ratio and a.ratio == b.ratio else False
    return bool(a.ratio) and a.ratio == b.ratio

"""Numbers in English words, and numerals with a base."""

import re
from dataclasses import dataclass
from fractions import Fraction

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {w: i for i, w in enumerate(_UNITS)} | {w: 20 + 10 * i for i, w in enumerate(_TENS)}
SCALES = {
    "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "dozen": 12,
}  # fmt: skip
_ORDINAL_NAMES = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
    "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip
_ORDINALS = {w: i + 1 for i, w in enumerate(_ORDINAL_NAMES)} | {
    "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip
_PARTS = {w: n for w, n in _ORDINALS.items() if n > 2} | {"half": 2, "quarter": 4}
_PLURAL_PARTS = {f"{w}s": n for w, n in _PARTS.items()} | {"halves": 2}
_TOKEN = re.compile(r"[A-Za-z]+")
_NUMERAL_ORDINAL = re.compile(r"(\d+) ?(?:st|nd|rd|th)")
_BASED = re.compile(
    r"\(? ?(?P<digits>[0-9A-Za-z]+) ?\)? ?(?:_ ?\{? ?(?P<base>\d{1,2}|[a-z]+) ?\}?"
    r"|,? ?\(?(?:in )?base[ -](?P<spoken>\d{1,2}|[a-z]+)\)?)"
)


@dataclass(frozen=True, slots=True)
class Based:
    """A numeral with its base."""

    digits: str
    """Upper case, without leading zeros."""
    base: int
    value: int


def read_based(text: str) -> Based | None:
    """`1011_2`, `4343_{6}`, `(1011)_{two}`, `1011 base 2`; None for a symbol with an index."""
    found = _BASED.fullmatch(text)
    if found is None:
        return None
    name = found["base"] or found["spoken"]
    base = int(name) if name.isdigit() else _SMALL.get(name, 0)
    digits = found["digits"].upper().lstrip("0") or "0"
    if not 2 <= base <= 36 or not any(c.isdigit() for c in found["digits"]):
        return None
    try:
        return Based(digits, base, int(digits, base))
    except ValueError:  # a digit that the base does not have
        return None


def read_ordinal(text: str) -> int | None:
    """`third`, `21st`, `twenty-first`."""
    figures = _NUMERAL_ORDINAL.fullmatch(text)
    if figures:
        return int(figures[1])
    tens, _, last = text.lower().replace("-", " ").rpartition(" ")
    if last not in _ORDINALS or (tens and (_SMALL.get(tens, 0) < 20 or _ORDINALS[last] > 9)):
        return None
    return _SMALL.get(tens, 0) + _ORDINALS[last]


def read_number_words(text: str) -> tuple[Fraction, int] | None:
    """The number in words that `text` begins with, and the index after it.

    `twenty-one`, `two hundred and five`, `a dozen`, `two thirds`, `one and a half`.
    """
    tokens = [(m[0].lower(), m.end()) for m in _TOKEN.finditer(text)]
    if not tokens or text[: tokens[0][1]].lower() != tokens[0][0]:
        return None
    total, current, end, used = Fraction(0), Fraction(0), 0, 0
    seen = False
    while used < len(tokens):
        word, after = tokens[used]
        following = tokens[used + 1][0] if used + 1 < len(tokens) else ""
        if word in _SMALL:
            if seen and current and not (_SMALL[word] < 10 <= current % 100 or current % 100 == 0):
                break
            current += _SMALL[word]
        elif word in SCALES and (seen or word != "dozen"):
            current = (current or Fraction(1)) * SCALES[word]
            if SCALES[word] > 100:
                total, current = total + current, Fraction(0)
        elif word in ("a", "an") and not seen and (following in SCALES or following in _PARTS):
            current = Fraction(1)
        elif seen and (word in _PLURAL_PARTS or (word in _PARTS and current == 1 and not total)):
            return (total + current) / (_PLURAL_PARTS.get(word) or _PARTS[word]), after
        elif word == "half" and not seen:
            return Fraction(1, 2), after
        elif word == "and" and seen:
            rest = read_number_words(text[after:].lstrip())
            if rest is None:
                break
            offset = len(text) - len(text[after:].lstrip())
            if rest[0] >= (total + current) or (rest[0].denominator == 1 and total + current < 100):
                break
            return total + current + rest[0], offset + rest[1]
        else:
            break
        seen, end, used = True, after, used + 1
    return (total + current, end) if seen else None

r"""Tokens of the arithmetic in a step: plain text, Markdown and LaTeX mixed, spans kept.

One pass of one regular expression whose repetitions never give back what they took, so time is
linear in the text. What a word means beside a number is not decided here but in
`arithmetic_sides`. Spans refer to the text as given: nothing is rewritten first.
"""

import re
from fractions import Fraction
from typing import Final

Value = int | Fraction
"""An exact number; whole numbers are `int`, which is several times faster."""

NUMBER: Final = "number"
OPERATOR: Final = "operator"  # text is one of + - * / ^
OPEN: Final = "open"
CLOSE: Final = "close"
CURRENCY: Final = "currency"
RELATION: Final = "relation"  # text is = or ≈
WORD: Final = "word"
NAME: Final = "name"  # a variable: `x`, `x_1`
FRACTION: Final = "frac"  # two groups follow
ROOT: Final = "sqrt"  # a group or a number follows
FACTORIAL: Final = "factorial"
BREAK: Final = "break"  # ends a clause
OTHER: Final = "other"  # nothing that touches it is read

MAX_DIGITS: Final = 300
"""A longer number is not read: Python refuses to convert it, or takes quadratic time."""


class Token:
    """One token with its half-open character span [start, end)."""

    __slots__ = ("end", "glued", "kind", "percent", "places", "prose", "start", "text", "value")

    def __init__(self, kind: str, text: str, start: int, end: int, glued: bool) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end
        self.glued = glued
        """Nothing stands between it and the token before."""
        self.value: Value | None = None
        """Of a number, as written (a percentage is not divided by 100); None when too long."""
        self.percent = False
        self.prose = False
        """An operator written as a word: `times`, `of`."""
        self.places = 0
        """Decimal places of a number; -1 when dots say that digits were left out."""

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text}>"


_TOKEN = re.compile(
    r"""[ \t\r\f\v\u00a0\u2009\u202f]*+(?:
      (?P<number>(?:\d{1,3}(?:(?:,\\!|,|\{,\}|\\,)\d{3})++(?!\d)(?:\.\d++)?|\d++(?:\.\d++)?|\.\d++)
        (?P<dots>\.{3}|…|\\[lc]?dots(?![A-Za-z])|\.?\\(?:overline|bar|dot)\s*\{?\d{1,20}\}?)?
        (?P<percent>\s?\\?%|\s(?:percent|per\ cent)\b)?)
    | (?P<name>[A-Za-zα-ωΑ-Ω]_(?:[^\W_]|\{\w{1,8}\}))
    | (?P<word>LETTER++(?:['’]LETTER++|(?<=LETTER{2})-LETTER{2,}+)*+)
    | (?P<equal>(?<![<>!=:+*/-])=(?![=>]))
    | (?P<note><<[^<>\n]{0,400}>>)
    | (?P<ellipsis>\.{3,}+|…|\\[lc]?dots(?![A-Za-z]))
    | (?P<money>\\?\$|[€£¥₹¢])
    | (?P<minus>[-−–](?!>))
    | (?P<plus>\+(?!=))
    | (?P<power>\*\*|\^(?!\s?\{?\\circ))
    | (?P<times>[*×·∙⋅∗]|\\(?:times|cdot|ast)(?![A-Za-z]))
    | (?P<over>/(?!/)|[÷⁄∕]|\\div(?![A-Za-z]))
    | (?P<square>[²³])
    | (?P<break>[,;:?"“”„`\#!.\n•→⇒⟹⟶∴✓✔✅❌✗✘—<>≤≥]|\\\\|=>|->
        |\\(?:implies|Rightarrow|Longrightarrow|[Rr]ightarrow|longrightarrow|to|iff|therefore
          |Leftrightarrow|because|leq?|geq?|lt|gt|leqslant|geqslant|land|newline|item|begin|end
          |tag|q?quad)(?![A-Za-z])|\\[\[\]])
    | (?P<frac>\\[dtc]?frac(?:\s*\d(?:\s*\d|(?=\s*\{)))?+(?![A-Za-z]))
    | (?P<clear>\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mbox|boxed|fbox|emph|underline
        |boldsymbol|hbox)\s*\{)
    | (?P<open>[(\[{]|\\\{)
    | (?P<close>[)\]}]|\\\})
    | (?P<degree>\^?\s?\{?\\circ(?![A-Za-z])\}?|°)
    | (?P<root>\\sqrt(?![A-Za-z\[])|√)
    | (?P<approx>[≈≅≃≐]|~=|\\(?:approx|simeq|thickapprox|doteq)(?![A-Za-z]))
    | (?P<space>\\[,;:!\ ()]|[~&]
        |\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle)(?![A-Za-z]))
    | (?P<other>\\[A-Za-z]++|.))
    """.replace("LETTER", r"[^\W\d_²³¹½¼¾]"),
    re.X,
)
_SEPARATOR = re.compile(r",\\!|\{,\}|\\,|,")
_OPERATORS = {"times": "*", "over": "/", "minus": "-", "plus": "+", "power": "^"}
_KINDS = {
    "name": NAME,
    "money": CURRENCY,
    "open": OPEN,
    "close": CLOSE,
    "root": ROOT,
    "ellipsis": OTHER,
    "other": OTHER,
}
_AFTER_FACTORIAL = re.compile(r"!*+\s*(?:[-+*/^=)}\]×÷·⋅≈&!]|\\(?!\]|\)|[A-Za-z]*text))")
_BEFORE_MONEY = re.compile(r"\s?[-−–]?\s?\.?\d")


def tokenize(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """Tokens of `text[start:end]`; annotations such as `<<2+3=5>>` are left out."""
    out: list[Token] = []
    clear: list[bool] = []  # for each open bracket, whether it only sets type: \text{...}
    texts = 0  # how many of them do
    maths = False  # between \( and \), where a word is a product of names
    last = start  # where the text before ends, annotations and type-setting included
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        kind = match.lastgroup
        if kind is None:
            continue
        if kind in ("dots", "percent"):
            kind = "number"
        begin, stop = match.span(kind)
        glued = begin == last
        last = stop
        if kind == "word":
            known = OTHER if maths and not texts else WORD
            out.append(Token(known, match[kind], begin, stop, glued))
        elif kind in _KINDS:
            if kind == "money" and not _BEFORE_MONEY.match(text, stop):
                if match[kind] in "$\\$":  # it delimits maths
                    last = -1
                    continue
            elif kind == "open":
                clear.append(False)
            elif kind == "close" and clear and clear.pop():
                texts -= 1
                continue
            out.append(Token(_KINDS[kind], text[begin:stop], begin, stop, glued))
        elif kind == "number":
            out.append(_number(match, begin, stop, glued))
        elif kind in _OPERATORS:
            out.append(Token(OPERATOR, _OPERATORS[kind], begin, stop, glued))
        elif kind == "equal" or kind == "approx":
            shown = "=" if kind == "equal" else "≈"
            out.append(Token(RELATION, shown, begin, stop, glued))
        elif kind == "space":
            if text[stop - 1] in "()":
                maths = text[stop - 1] == "("
                last = -1  # what is beside a delimiter does not belong together
        elif kind == "break":
            if text[stop - 1] in "[]":
                maths = text[stop - 1] == "["
            out.append(_break(text, match[kind], begin, stop, glued, out))
        elif kind == "frac":
            out.append(Token(FRACTION, "frac", begin, stop, glued))
            out.extend(_digit_groups(match[kind], begin, stop))
        elif kind == "clear":
            clear.append(True)
            texts += 1
            last = -1  # a word in \text{} never belongs to the number before it
        elif kind == "square":
            out.append(Token(OPERATOR, "^", begin, stop, True))
            out.append(small_number(2 if match[kind] == "²" else 3, begin, stop))
        elif kind == "degree":
            out.append(Token(WORD, "degrees", begin, stop, glued))
    return out


def small_number(value: int, start: int, end: int) -> Token:
    """A number token that stands for something written otherwise, such as `²`."""
    token = Token(NUMBER, str(value), start, end, True)
    token.value = value
    return token


def _number(match: re.Match[str], start: int, end: int, glued: bool) -> Token:
    written = match["number"]
    dots, percent = match["dots"], match["percent"]
    token = Token(NUMBER, written, start, end, glued)
    token.percent = percent is not None
    digits = written
    if dots or percent:
        digits = digits[: match.start("dots" if dots else "percent") - start]
    if "," in digits or "\\" in digits:
        digits = _SEPARATOR.sub("", digits)
    if len(digits) > MAX_DIGITS:
        return token
    token.text = digits
    whole, point, decimals = digits.partition(".")
    if point:
        token.places = len(decimals)
        token.value = simple(Fraction(int(whole + decimals), 10 ** len(decimals)))
    else:
        token.value = int(digits)
    if dots and "\\" in dots and dots[-1] in "0123456789}":
        repeated = "".join(filter(str.isdigit, dots))
        scale = 10 ** len(decimals) * (10 ** len(repeated) - 1)
        token.value = simple(token.value + Fraction(int(repeated), scale))
        token.places = 0
        token.text = f"{digits}({repeated})"
    elif dots:
        token.places = -1
    return token


def simple(value: Value) -> Value:
    """The same number as an `int` where it is whole."""
    return value.numerator if value.denominator == 1 else value


def _digit_groups(written: str, start: int, end: int) -> list[Token]:
    r"""Groups for the digits of `\frac12` and `\frac1{2}`, which stand without braces."""
    out: list[Token] = []
    for digit in re.findall(r"\d", written):
        out.append(Token(OPEN, "{", start, end, True))
        out.append(small_number(int(digit), start, end))
        out.append(Token(CLOSE, "}", start, end, True))
    return out


def _break(text: str, mark: str, start: int, end: int, glued: bool, before: list[Token]) -> Token:
    """The mark as the end of a clause, or as what else it may be."""
    kind = BREAK
    if mark == "!" and glued and before and before[-1].kind in (NUMBER, CLOSE, FACTORIAL, NAME):
        if _AFTER_FACTORIAL.match(text, end):
            kind = FACTORIAL
    elif mark in ":," and text[start - 1 : start].isdigit() and text[end : end + 1].isdigit():
        kind = OTHER  # a clock, a ratio, a decimal comma
    return Token(kind, mark, start, end, glued)

r"""The sides of an equation in prose: which tokens are the expression, which are its units.

To the left of a relation the longest arithmetic suffix is read, to its right the longest prefix. A
side is refused, with the reason, where what stands beside it could change its value: `half of`,
`25 classmates + his 1 teacher`, `day 1 * 2`, `f(3)`, `3 remainder 2`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stepmill.verifiers.arithmetic_tokens import (
    CLOSE,
    CURRENCY,
    FACTORIAL,
    FRACTION,
    NAME,
    NUMBER,
    OPEN,
    OPERATOR,
    OTHER,
    ROOT,
    WORD,
    Token,
    small_number,
)
from stepmill.verifiers.arithmetic_words import (
    CHANGES_NEXT,
    ENDS_VALUE_BADLY,
    LINKS,
    MEASURES,
    NOT_UNITS,
    NUMBERED,
    SCALES,
    UNIT_LETTERS,
)

_EXPRESSION = frozenset({
    NUMBER, OPERATOR, OPEN, CLOSE, FRACTION, ROOT, FACTORIAL, CURRENCY, NAME,
})  # fmt: skip
_MAX_UNIT_WORDS = 4
_BEFORE_SIGN = frozenset({"\n", ":", ";", ".", "\\["})
"""Breaks after which a sign is the sign of a number, and not an operator cut from its left side."""


@dataclass(slots=True)
class Side:
    """One side of an equation as it will be evaluated."""

    tokens: list[Token]
    """Expression only; units and currency signs are left out."""
    units: list[str]
    """Unit words in order, lower case, and currency signs."""
    start: int
    end: int
    operators: int
    """Operators in the expression, a leading sign not counted."""
    prose: bool
    """Some operator is a word."""
    has_names: bool
    boundary: str = ""
    """What stands before a left side: text of the break, or empty."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A side that is not read, and why."""

    reason: str


def suffix(segment: Sequence[Token], before: Token | None, *, chained: bool) -> Side | Refusal:
    """The side that ends at the end of `segment`, which a relation follows.

    Args:
        segment: the tokens from the clause's start, or from the relation before.
        before: the break before the clause; None at the start of the text.
        chained: whether a relation stands before `segment` in its clause.
    """
    i = _suffix_start(segment)
    depth = 0
    for j in range(len(segment) - 1, i - 1, -1):
        if segment[j].kind == CLOSE:
            depth += 1
        elif segment[j].kind == OPEN:
            depth -= 1
            if depth < 0:  # a bracket around the whole claim: (so 2 + 3 = 5)
                i = j + 1
                break
    body = segment[i:]
    left = segment[i - 1] if i else None
    side = _read(body)
    if isinstance(side, Refusal):
        return side
    if left is not None:
        joined = i == 1 and (before is None or before.text != ",")  # "And 2 + 3 = 5"
        reason = _left_refusal(segment, i, left, side, chained or joined)
        if reason:
            return Refusal(reason)
    elif before is not None:
        if side.tokens[0].kind == OPERATOR and before.text not in _BEFORE_SIGN:
            return Refusal("cut-left")
        side.boundary = before.text
    return side


def prefix(segment: Sequence[Token]) -> Side | Refusal:
    """The side that starts at the start of `segment`, which a relation precedes."""
    i = 0
    n = len(segment)
    while i < n:
        token = segment[i]
        if token.kind in _EXPRESSION:
            i += 1
        elif token.kind == WORD:
            k = i
            while k < n and segment[k].kind == WORD:
                k += 1
            if (
                i
                and k - i <= _MAX_UNIT_WORDS
                and k + 1 < n
                and segment[k].kind == OPERATOR
                and segment[k + 1].kind in (NUMBER, OPEN, CURRENCY, FRACTION)
            ):
                i = k
            else:
                break
        else:
            break
    depth = 0
    for j in range(i):
        if segment[j].kind == OPEN:
            depth += 1
        elif segment[j].kind == CLOSE:
            depth -= 1
            if depth < 0:
                return _read(segment[:j])
    body = segment[:i]
    right = segment[i] if i < n else None
    if body and body[-1].kind == OPERATOR:
        return Refusal("cut-right")
    if right is not None:
        if right.kind == OTHER:
            return Refusal("cut-right")
        if right.kind == WORD:
            reason = _right_refusal(segment, i)
            if reason:
                return Refusal(reason)
    side = _read(body)
    if isinstance(side, Side) and right is not None and right.kind == WORD:
        word = right.text.lower()
        if word in SCALES:
            side.tokens += [_product(right), small_number(SCALES[word], right.start, right.end)]
        side.units.append(word)
        side.end = right.end
    return side


def whole(segment: Sequence[Token]) -> Side | Refusal:
    """The side that is all of `segment`, between two relations."""
    return _read(segment)


def _suffix_start(segment: Sequence[Token]) -> int:
    n = len(segment)
    i = n
    while i:
        token = segment[i - 1]
        if token.kind in _EXPRESSION:
            i -= 1
            continue
        if token.kind != WORD or not (i == n or segment[i].kind in (OPERATOR, CLOSE)):
            break
        k = i - 1
        while k and segment[k - 1].kind == WORD and i - k < _MAX_UNIT_WORDS:
            k -= 1
        if not k or any(segment[j].text.lower() in NOT_UNITS for j in range(k, i)):
            break
        owner = segment[k - 1]
        if owner.kind in (NUMBER, CLOSE):
            i = k
        elif owner.text == "/" and k > 1 and segment[k - 2].kind in (WORD, NUMBER):
            i = k - 1
        else:
            break
    return i


def _read(body: Sequence[Token]) -> Side | Refusal:
    """The expression in `body` without its units."""
    tokens: list[Token] = []
    units: list[str] = []
    operators = 0
    prose = has_names = False
    n = len(body)
    i = 0
    while i < n:
        token = body[i]
        kind = token.kind
        if kind == NUMBER:
            if token.text[0] == "0" and len(token.text) > 1 and token.text[1] != ".":
                return Refusal("leading-zero")
            tokens.append(token)
        elif kind == OPERATOR:
            if token.text == "/" and i + 1 < n and body[i + 1].kind == WORD and tokens:
                i += 2  # a rate: 5 miles/hour, 60/day
                units.append("/")
                continue
            if token.text == "^" and i and body[i - 1].kind == WORD:
                if body[i - 1].text.lower() not in MEASURES or i + 1 >= n:
                    return Refusal("algebra")
                i += 2  # cm^2
                continue
            operators += bool(tokens) and tokens[-1].kind != OPEN
            prose = prose or token.prose
            tokens.append(token)
        elif kind == CURRENCY:
            units.append(token.text)
        elif kind == WORD:
            reason = _unit(body, i, tokens, units)
            if reason:
                return Refusal(reason)
        elif kind == NAME:
            previous = body[i - 1] if i else None
            if (
                previous is not None
                and previous.kind == NUMBER
                and not token.glued
                and token.text in UNIT_LETTERS
            ):
                if i + 1 < n and body[i + 1].text == "^":
                    i += 2
                units.append(token.text)
            else:
                has_names = True
                operators += bool(tokens) and tokens[-1].kind in (NUMBER, CLOSE)
                tokens.append(token)
        elif kind in _EXPRESSION:
            if kind == OPEN and token.glued and i and body[i - 1].kind in (WORD, NAME):
                return Refusal("call")
            operators += kind in (FRACTION, ROOT, FACTORIAL)
            operators += kind == OPEN and bool(tokens) and tokens[-1].kind in (NUMBER, CLOSE)
            tokens.append(token)
        else:
            return Refusal("not-an-expression")
        i += 1
    if not tokens:
        return Refusal("no-expression")
    if tokens[0].kind == OPERATOR and tokens[0].text not in "+-":
        return Refusal("cut-left")
    return Side(tokens, units, body[0].start, body[-1].end, operators, prose, has_names)


def _unit(body: Sequence[Token], i: int, tokens: list[Token], units: list[str]) -> str:
    """Takes the word at `i` as a unit, or returns why it is none."""
    token = body[i]
    word = token.text.lower()
    previous = body[i - 1] if i else None
    if previous is None or previous.kind not in (NUMBER, CLOSE, WORD, FACTORIAL):
        return "word"
    if word in NOT_UNITS:
        return "word"
    if previous.kind != WORD and token.glued and token.text not in MEASURES:
        return "algebra"  # 2abc
    if token.text != word and token.text not in MEASURES:
        return "algebra"  # capitals make a name: 1Dachshund + 1/4Papillon
    if len(word) < 3 and token.text not in MEASURES and word not in ("a", "of", "in", "per"):
        return "algebra"
    if word in SCALES:
        if previous.kind == WORD:
            return "word"
        tokens += [_product(token), small_number(SCALES[word], token.start, token.end)]
    elif word in CHANGES_NEXT and word not in ("of", "per", "only", "all", "every", "each"):
        return "word"
    units.append(word)
    return ""


def _product(at: Token) -> Token:
    return Token(OPERATOR, "*", at.start, at.end, False)


def _left_refusal(segment: Sequence[Token], i: int, left: Token, side: Side, links: bool) -> str:
    """Why the side that starts at `i` may be cut from a longer expression; empty when it is not.

    `links` tells that an `and` before it links statements, not numbers.
    """
    first = segment[i]
    if left.kind == OTHER or left.kind == CLOSE:
        return "cut-left"
    if left.kind == OPEN:
        outer = segment[i - 2] if i > 1 else None
        return "call" if outer is not None and left.glued and outer.kind in (NAME, WORD) else ""
    if side.has_names and len(side.tokens) == 1:
        return ""
    word = left.text.lower()
    if word in CHANGES_NEXT and not (word == "and" and links):
        return "word-before"
    if word in NUMBERED:
        return "numbered"
    if first.kind == OPEN and first.glued:
        return "call"
    k = i - 1
    while k >= 0 and segment[k].kind == WORD:
        k -= 1
    if k >= 0 and segment[k].kind == OPERATOR:
        return "cut-left"  # 25 classmates + his 1 teacher + 1
    if k >= 0 and segment[k].kind == NUMBER and k == i - 2 and left.text in MEASURES:
        return "compound"  # 1 hour 45 minutes - 30 minutes
    if not side.operators:
        return "bare-number"  # 3 miles less = 20 - 3
    if side.tokens[0].kind == OPERATOR:
        return "sign-after-word"
    return ""


def _right_refusal(segment: Sequence[Token], i: int) -> str:
    """Why the words at `i` show that the value before them is not all that is stated."""
    right = segment[i]
    word = right.text.lower()
    k = i
    while k < len(segment) and segment[k].kind == WORD:
        k += 1
    words = [token.text.lower() for token in segment[i:k]]
    if word in ENDS_VALUE_BADLY or "remainder" in words[:4] or "half" in words[:4]:
        return "word-after"
    if right.glued and segment[i - 1].kind in (NUMBER, CLOSE) and right.text not in MEASURES:
        return "algebra"
    after = segment[k] if k < len(segment) else None
    if after is None:
        return ""
    if after.kind in (OPERATOR, OTHER) and after.text != "^":
        return "cut-right"
    if after.kind in (NUMBER, CURRENCY, FRACTION) and _continues(segment, k, words):
        return "compound"  # 1 hour 30 minutes
    return ""


def _continues(segment: Sequence[Token], k: int, words: list[str]) -> bool:
    """Whether the number at `k` belongs to the value before `words`: `5 feet and 2 inches`."""
    if words == ["and"]:  # 5 and 1/2
        over = segment[k + 1].text if k + 1 < len(segment) else ""
        return over == "/" or segment[k].kind == FRACTION
    if words[0] in NOT_UNITS or words[0] in LINKS:
        return False
    return len(words) == 1 or words[1:] == ["and"]

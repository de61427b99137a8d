r"""From tokens to clauses: what `x`, `*`, `of` or a bracketed remark is, where a statement ends.

A clause is a run of tokens without a break; an equation chain lies inside one clause, or runs on
over line ends where its relation ends a line or starts one (`= 12` below `3 \cdot 4`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from stepmill.verifiers.arithmetic_tokens import (
    BREAK,
    CLOSE,
    CURRENCY,
    FRACTION,
    NAME,
    NUMBER,
    OPEN,
    OPERATOR,
    OTHER,
    RELATION,
    ROOT,
    WORD,
    Token,
)
from stepmill.verifiers.arithmetic_words import CHANGES_NEXT, FUNCTIONS, SCALES

BULLET = "bullet"
"""Text of the break that stands for a list mark `-`, which could also be a sign."""

_LONGEST_SPOKEN = 30
"""Tokens before `is` among which the operator of its expression is looked for."""

_NO_REMARK = (CHANGES_NEXT | SCALES.keys()) - {"of", "and", "per"}
_VALUE_ENDS = frozenset({NUMBER, CLOSE})
_VALUE_STARTS = frozenset({NUMBER, OPEN, CURRENCY, FRACTION, ROOT})
_WORD_OPERATORS = {"times": "*", "plus": "+", "minus": "-", "multiplied": "*", "divided": "/"}
_SPOKEN = _WORD_OPERATORS.keys() | FUNCTIONS | {"of", "is", "equal", "equals"}
"""Words that may be more than words."""
_LINE_ENDS = frozenset({"\n", "\\\\", "\\[", "\\]"})


def resolve(tokens: list[Token]) -> list[Token]:
    """Tokens with their roles settled: products, list marks, remarks, word operators, names."""
    out: list[Token] = []
    n = len(tokens)
    i = 0
    while i < n:
        token = tokens[i]
        kind = token.kind
        if kind == WORD:
            if len(token.text) > 1 and token.text.lower() not in _SPOKEN:
                out.append(token)
                i += 1
            else:
                i = _word(tokens, i, out)
            continue
        if kind == OPERATOR:
            if token.text in "*+-" and _starts_line(out, len(out)) and _is_list_mark(tokens, i):
                out.append(Token(BREAK, BULLET, token.start, token.end, token.glued))
                i += 1
                continue
            if token.text == "^" and token.end - token.start == 2 and not _is_power(tokens, i):
                i += 1  # ** of Markdown
                continue
        elif kind == OPEN:
            end = _remark_end(tokens, i)
            if end:
                i = end
                continue
        elif kind == CLOSE and out and out[-1].kind in (NUMBER, NAME) and _numbers_list(out):
            token = Token(BREAK, ")", token.start, token.end, True)  # `1)` or `(a)` of a list
        out.append(token)
        i += 1
    return out


@dataclass(frozen=True, slots=True)
class Clause:
    """A run of tokens with an equation in it."""

    tokens: list[Token]
    before: Token | None
    """The break before it; None at the start of the text."""
    after: Token | None
    """The break that ends it; None at the end of the text."""
    listed: list[Token]
    """The tokens before that break when it is a comma: the clause may be part of a list."""


def clauses(tokens: list[Token]) -> Iterator[Clause]:
    """Each clause that has a relation, in order."""
    current: list[Token] = []
    listed: list[Token] = []
    before: Token | None = None
    has_relation = False
    for i, token in enumerate(tokens):
        if token.kind != BREAK:
            current.append(token)
            has_relation = has_relation or token.kind == RELATION
        elif (
            token.text in _LINE_ENDS
            and current
            and (current[-1].kind == RELATION or _chain_goes_on(tokens, i))
        ):
            continue
        else:
            if has_relation:
                yield Clause(current, before, token, listed)
            listed = current if token.text == "," and not has_relation else []
            current, before, has_relation = [], token, False
    if has_relation:
        yield Clause(current, before, None, listed)


def _chain_goes_on(tokens: list[Token], i: int) -> bool:
    """Whether only line ends lie between `tokens[i]` and a relation."""
    for token in tokens[i + 1 : i + 5]:
        if token.kind == RELATION:
            return True
        if token.kind != BREAK or token.text not in _LINE_ENDS:
            return False
    return False


def _word(tokens: list[Token], i: int, out: list[Token]) -> int:
    """Appends what the word at `i` stands for; returns the index after it."""
    token = tokens[i]
    word = token.text
    before = out[-1] if out else None
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    if len(word) == 1:
        if word in "xX" and _is_times(before, token, after):
            out.append(Token(OPERATOR, "*", token.start, token.end, token.glued))
        elif _is_article(word, before, token, after):
            out.append(token)
        else:
            out.append(Token(NAME, word, token.start, token.end, token.glued))
        return i + 1
    lower = word.lower()
    if lower in _WORD_OPERATORS or lower == "of":
        return _word_operator(tokens, i, out, lower)
    if lower in ("equal", "equals") and before is not None and after is not None:
        skip = 2 if after.kind == WORD and after.text == "to" else 1
        if i + skip < len(tokens) and tokens[i + skip].kind in _VALUE_STARTS:
            if before.kind == WORD and before.text.lower() in ("is", "are"):
                out.pop()
            relation = Token(RELATION, "=", token.start, token.end, False)
            relation.prose = True
            out.append(relation)
            return i + skip
    if lower == "is" and _states_value(out, tokens, i):
        relation = Token(RELATION, "=", token.start, token.end, False)
        relation.prose = True
        out.append(relation)
        return i + 1
    if lower in FUNCTIONS:
        token = Token(OTHER, word, token.start, token.end, token.glued)
    out.append(token)
    return i + 1


def _word_operator(tokens: list[Token], i: int, out: list[Token], lower: str) -> int:
    token = tokens[i]
    j = i + 1
    if lower in ("multiplied", "divided"):
        if j < len(tokens) and tokens[j].kind == WORD and tokens[j].text == "by":
            j += 1
        else:
            j = len(tokens)
    before = out[-1] if out else None
    if (
        j < len(tokens)
        and tokens[j].kind in _VALUE_STARTS
        and before is not None
        and before.kind in _VALUE_ENDS
        and (lower != "of" or _is_part(out))
    ):
        operator = Token(OPERATOR, _WORD_OPERATORS.get(lower, "*"), token.start, token.end, False)
        operator.prose = True
        out.append(operator)
        return j
    out.append(token)
    return i + 1


def _states_value(out: list[Token], tokens: list[Token], i: int) -> bool:
    """Whether `is` stands for `=`.

    It does between an expression without units and a number that ends its clause; a unit of few
    words may follow the number.
    """
    j = i + 1
    while j < len(tokens) and tokens[j].kind in (CURRENCY, NUMBER, WORD) and j - i <= 4:
        j += 1
    if j == i + 1 or tokens[i + 1].kind == WORD or (j < len(tokens) and tokens[j].kind != BREAK):
        return False  # 5^8 is 5 raised to the power of 8
    if not out or out[-1].kind not in _VALUE_ENDS:
        return False
    for token in reversed(out[-_LONGEST_SPOKEN:-1]):
        if token.kind == OPERATOR:
            return True
        if token.kind not in (NUMBER, OPEN, CLOSE, CURRENCY, FRACTION):
            return False
    return False


def _is_part(out: list[Token]) -> bool:
    """Whether `of` after these tokens multiplies: after `20%`, `3/4`, a LaTeX fraction."""
    last = out[-1]
    if last.kind == NUMBER:
        return last.percent or (len(out) > 2 and out[-2].text == "/" and out[-3].kind == NUMBER)
    return last.text == "}" and any(token.kind == FRACTION for token in out[-8:])


def _is_times(before: Token | None, token: Token, after: Token | None) -> bool:
    """Whether `x` is a product sign: between values, and spaced alike on both sides."""
    if before is None or after is None or after.kind not in _VALUE_STARTS:
        return False
    if before.kind == NUMBER or before.kind == CLOSE:
        return token.glued == after.glued and (after.kind == NUMBER or not token.glued)
    return before.kind == WORD and not token.glued and not after.glued and after.kind != OPEN


def _is_article(word: str, before: Token | None, token: Token, after: Token | None) -> bool:
    if word not in "aAI":
        return False
    if word == "a" and before is not None and before.kind == NUMBER and token.glued:
        return False
    return after is not None and after.kind in (WORD, NUMBER, CURRENCY) and not after.glued


def _starts_line(out: list[Token], end: int) -> bool:
    """Whether a line starts after the first `end` tokens."""
    return end == 0 or (out[end - 1].kind == BREAK and out[end - 1].text == "\n")


def _is_list_mark(tokens: list[Token], i: int) -> bool:
    return i + 1 < len(tokens) and not tokens[i + 1].glued and tokens[i].end - tokens[i].start == 1


def _is_power(tokens: list[Token], i: int) -> bool:
    if i == 0 or i + 1 >= len(tokens):
        return False
    before, token, after = tokens[i - 1], tokens[i], tokens[i + 1]
    values = before.kind in (NUMBER, CLOSE, NAME, WORD) and after.kind in (NUMBER, OPEN, NAME, WORD)
    signed = before.kind in (NUMBER, CLOSE) and after.text == "-"
    return (values or signed) and token.glued == after.glued


def _remark_end(tokens: list[Token], i: int) -> int:
    """Index after the bracket that opens at `i` when only words stand in it; 0 otherwise.

    A remark such as `(math and science)` leaves the value alone; `sin (theta)` is no remark, nor
    is `3 (dozen)`.
    """
    if tokens[i].text == "{" or (i and tokens[i].glued and tokens[i - 1].kind in (WORD, NAME)):
        return 0
    j = i + 1
    while j < len(tokens) and j - i < 12 and tokens[j].kind == WORD:
        if len(tokens[j].text) < 2 or tokens[j].text.lower() in _NO_REMARK:
            return 0
        j += 1
    return j + 1 if i + 1 < j < len(tokens) and tokens[j].kind == CLOSE else 0


def _numbers_list(out: list[Token]) -> bool:
    """Whether the last token, which a bracket closes, numbers an item: `1)`, `(a)`."""
    n = len(out)
    if _starts_line(out, n - 1):
        return True
    return n > 1 and out[-2].kind == OPEN and out[-1].glued and _starts_line(out, n - 2)

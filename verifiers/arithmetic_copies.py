"""Expressions copied from a question that is itself one expression (`Compute (3 - 5) * (2 + 7)`).

There a copy can be judged: an expression in a step that is a bracketed part of the question but for
one number or sign, and has another value than that part, was copied wrongly. A question in words
gives no such certainty, so nothing is said of its solutions.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from stepmill.verifiers.arithmetic_clauses import resolve
from stepmill.verifiers.arithmetic_eval import Unread, evaluate
from stepmill.verifiers.arithmetic_tokens import (
    BREAK,
    CLOSE,
    NUMBER,
    OPEN,
    OPERATOR,
    RELATION,
    WORD,
    Token,
    Value,
    tokenize,
)

_INTRODUCTION = (
    "evaluate",
    "compute",
    "simplify",
    "calculate",
    "find",
    "what",
    "is",
    "the",
    "value",
    "of",
)
_MAY_BE_EXPRESSION = re.compile(
    r"(?:[^A-Za-z\\]++|\\[a-z]*+|(?:" + "|".join(_INTRODUCTION) + r")\b)*+", re.IGNORECASE
)
_FEWEST_NUMBERS = 3
"""Shorter expressions are alike by chance."""
_LONGEST = 400

Shape = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A bracketed part of the question, or all of it."""

    shape: Shape
    value: Value


@dataclass(frozen=True, slots=True)
class WrongCopy:
    """An expression that was meant to be `part` of the question."""

    value: Value
    part: Part


class QuestionExpression:
    """The parts of a question that is one expression; empty for any other question."""

    def __init__(self, question: str) -> None:
        tokens = _only_expression(question)
        self.parts = _parts(tokens) if tokens else {}

    def wrong_copy(self, tokens: Sequence[Token]) -> WrongCopy | None:
        """Judges an expression; None when it is a true copy, or no copy at all."""
        if not self.parts or len(tokens) > _LONGEST:
            return None
        shape = _shape(_unwrapped(tokens))
        if shape in self.parts or sum(t.kind == NUMBER for t in tokens) < _FEWEST_NUMBERS:
            return None
        near = [part for part in self.parts.values() if _one_apart(shape, part.shape)]
        if len(near) != 1:
            return None
        try:
            value = evaluate(tokens).value
        except Unread:
            return None
        return WrongCopy(value, near[0]) if value != near[0].value else None


def _only_expression(question: str) -> list[Token]:
    """Tokens of the expression that the question is; empty when it says anything else."""
    if len(question) > 10 * _LONGEST or not _MAY_BE_EXPRESSION.fullmatch(question):
        return []
    tokens = resolve(tokenize(question))
    while tokens and _is_introduction(tokens[0]):
        tokens = tokens[1:]
    while tokens and tokens[-1].kind in (BREAK, RELATION):
        tokens = tokens[:-1]
    if any(token.kind not in (NUMBER, OPERATOR, OPEN, CLOSE) for token in tokens):
        return []
    return tokens if len(tokens) <= _LONGEST else []


def _is_introduction(token: Token) -> bool:
    return token.kind == BREAK or (token.kind == WORD and token.text.lower() in _INTRODUCTION)


def _parts(tokens: Sequence[Token]) -> dict[Shape, Part]:
    parts: dict[Shape, Part] = {}
    opened: list[int] = [-1]
    for i, token in enumerate([*tokens, None]):
        if token is not None and token.kind == OPEN:
            opened.append(i)
        elif (token is None or token.kind == CLOSE) and opened:
            inside = tokens[opened.pop() + 1 : i]
            try:
                value = evaluate(inside).value
            except Unread:
                continue
            shape = _shape(_unwrapped(inside))
            parts[shape] = Part(shape, value)
    return parts


def _unwrapped(tokens: Sequence[Token]) -> Sequence[Token]:
    """Without brackets around the whole."""
    while len(tokens) > 2 and tokens[0].kind == OPEN and _closes_at(tokens) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tokens


def _closes_at(tokens: Sequence[Token]) -> int:
    """Index at which the bracket that opens first is closed; -1 when it is not."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.kind == OPEN) - (token.kind == CLOSE)
        if not depth:
            return i
    return -1


def _shape(tokens: Sequence[Token]) -> Shape:
    """What the tokens say, however they are written: brackets of all forms are `(` and `)`."""
    words = {OPEN: "(", CLOSE: ")"}
    return tuple(
        str(token.value) if token.kind == NUMBER else words.get(token.kind, token.text)
        for token in tokens
    )


def _one_apart(a: Shape, b: Shape) -> bool:
    """Whether two shapes differ in one number, or in one sign."""
    if len(a) != len(b):
        return False
    different = [(p, q) for p, q in zip(a, b, strict=True) if p != q]
    if len(different) != 1:
        return False
    p, q = different[0]
    return (p in "+-*/") == (q in "+-*/") and p not in "()" and q not in "()"

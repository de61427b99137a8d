"""What the text around a false equation says of it: tried, denied or cut.

A difference between two sides is a false statement only where the sides are stated as equal in the
usual meaning of numbers and signs. Everything here turns a difference into `unknown` with a reason;
nothing here turns anything into `incorrect`.
"""

import re
from collections.abc import Sequence

from stepmill.verifiers.arithmetic_clauses import BULLET
from stepmill.verifiers.arithmetic_compare import Equation
from stepmill.verifiers.arithmetic_eval import Unread, evaluate
from stepmill.verifiers.arithmetic_sides import Side
from stepmill.verifiers.arithmetic_tokens import NUMBER, OPERATOR, WORD, Token, Value
from stepmill.verifiers.arithmetic_words import DENIED, REDEFINED, STATES, TAKEN_BACK, TRIED

_SENTENCE_END = re.compile(
    r"(?<=[a-z)\]}\d$%*])[.!?](?=\s|$)|\n(?=\s*(?:\n|[-*•#]|\d+[.)]|Step\b|Now\b|Next\b))"
)
"""A line end alone ends no sentence: formulas stand on lines of their own."""

_LOOK_BACK = 400
_LOOK_AHEAD = 400


def redefines(text: str) -> bool:
    """Whether the text uses numbers or signs in another than the usual meaning."""
    return REDEFINED.search(text) is not None


def is_tried(text: str, start: int) -> bool:
    """Whether the sentence before `start` says that what follows is tried or supposed."""
    low = max(0, start - _LOOK_BACK)
    begin = low
    for match in _SENTENCE_END.finditer(text, low, start):
        begin = match.end()
    return TRIED.search(text, begin, start) is not None


def is_denied(text: str, end: int) -> bool:
    """Whether the rest of the sentence after `end`, or the next one, takes the claim back."""
    high = min(len(text), end + _LOOK_AHEAD)
    for sentence, match in enumerate(_SENTENCE_END.finditer(text, end, high)):
        if sentence == 1:
            high = match.end()
            break
    return DENIED.search(text, end, high) is not None


def is_taken_back(following: str) -> bool:
    """Whether the next step begins by denying what the step before it ends with."""
    return TAKEN_BACK.match(following) is not None


def excuse(equation: Equation, x: Value, y: Value) -> str | None:
    """Why an equation whose sides are `x` and `y`, which differ, may still be no false statement.

    Returns:
        The reason, or None: the statement is false.
    """
    left, right, text = equation.left, equation.right, equation.text
    if left.boundary == BULLET and _negated(left) == y:
        return "list-mark"
    if right.operators and right.tokens[0].value == x:
        return "running-total"  # 3 * 4 = 12 + 5 = 17
    if equation.chained and _ends_in(left, y):
        return "running-total"  # 3 * 4 = 12 + 5 * 2 = 10
    if _is_cut(equation.ahead) or _explains(x, y, [*equation.ahead, *equation.listed]):
        return "number-before"
    if equation.before_exclamation:
        return "factorial-or-exclamation"  # 7! = 7 * 6 * 5 * 4!
    if is_tried(text, left.start):
        return "tried"
    if is_denied(text, right.end):
        return "denied"
    return None


def _negated(side: Side) -> Value | None:
    minus = Token(OPERATOR, "-", side.start, side.start, False)
    try:
        return evaluate([minus, *side.tokens]).value
    except Unread:
        return None


def _ends_in(side: Side, y: Value) -> bool:
    """Whether what follows one of the additive signs of a side comes to `y`."""
    for i, token in enumerate(side.tokens):
        if i and token.kind == OPERATOR and token.text in "+-":
            try:
                if evaluate(side.tokens[i + 1 :]).value == y:
                    return True
            except Unread:
                continue
    return False


def _is_cut(ahead: Sequence[Token]) -> bool:
    """Whether a number stands before that the words after it may join to the expression.

    `20 pens at $3 + $2 = $62`: only words such as `is` or `so` make sure that nothing is joined.
    """
    if not any(token.kind == NUMBER for token in ahead):
        return False
    return ahead[-1].kind != WORD or ahead[-1].text.lower() not in STATES


def _explains(x: Value, y: Value, before: Sequence[Token]) -> bool:
    """Whether one operation with a number that stands before makes `x` to `y`.

    Then the expression may be longer than what was read of it: `5 boxes and 3 + 2 = 10`.
    """
    for token in before:
        number = token.value if token.kind == NUMBER else None
        if number and (y in (x + number, x - number, number - x, x * number) or y * number == x):
            return True
    return False

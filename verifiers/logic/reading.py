"""What the notations share: the error of a text that cannot be read, its limits, and a cursor.

Every limit is checked before or while reading, so no text costs more than its length allows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_CHARACTERS = 8_000
"""Of one formula or sentence."""
MAX_DEPTH = 60
"""Nested brackets, negations, quantifiers and arrows; a reader recurses once for each."""
MAX_DIGITS = 40
"""Of one number; longer ones cost the solver more than a step is worth."""


class ParseError(ValueError):
    """Raised when a text is not in the notation, or means two things in it."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text."""

    kind: str
    text: str
    position: int


def check_length(text: str) -> None:
    """Raise ParseError for a text that is too long to read."""
    if len(text) > MAX_CHARACTERS:
        raise ParseError(f"{len(text)} characters; at most {MAX_CHARACTERS} are read")


def scan(text: str, pattern: re.Pattern[str]) -> list[Token]:
    """Cut a text into tokens: the kind is the name of the pattern's group; spaces are skipped.

    Raises:
        ParseError: the text is too long, or has a character that begins no token.
    """
    check_length(text)
    found, position = [], 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = pattern.match(text, position)
        if match is None or match.end() == position:
            raise ParseError(f"{text[position : position + 12]!r} at {position} is not understood")
        found.append(Token(match.lastgroup or "", match.group(), position))
        position = match.end()
    return found


class Cursor:
    """Reads tokens from left to right and counts the nesting."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def peek(self, ahead: int = 0) -> str:
        """Kind of a token that comes; `end` after the last."""
        at = self._next + ahead
        return self._tokens[at].kind if at < len(self._tokens) else "end"

    def take(self, *kinds: str) -> Token | None:
        """The next token, if it is of one of these kinds."""
        if self.peek() not in kinds:
            return None
        self._next += 1
        return self._tokens[self._next - 1]

    def expect(self, *kinds: str) -> Token:
        """The next token, which must be of one of these kinds."""
        token = self.take(*kinds)
        if token is None:
            raise ParseError(f"{self._here()} where {' or '.join(kinds)} should be")
        return token

    def finish(self) -> None:
        """Raise ParseError unless everything was read."""
        if self.peek() != "end":
            raise ParseError(f"{self._here()} after the end")

    def deeper(self) -> None:
        """Enter one level; `shallower` leaves it."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ParseError(f"nested deeper than {MAX_DEPTH}")

    def shallower(self) -> None:
        """Leave one level."""
        self._depth -= 1

    def _here(self) -> str:
        if self._next >= len(self._tokens):
            return "the end"
        token = self._tokens[self._next]
        return f"{token.text!r} at {token.position}"

"""Bounds on what is read and computed, so that every check in this process ends at once.

The comparisons that run in the caller's process are bounded by these limits; what may take longer
goes to a worker that can be killed. An answer beyond a limit is `unknown: too-large`, never wrong.
"""

import re

MAX_CHARACTERS = 2000
"""Longest answer that is compared."""
MAX_DEPTH = 40
"""Deepest nesting of brackets and arguments."""
MAX_BITS = 30_000
"""Largest number, as the size of numerator and denominator in bits (about 9,000 digits)."""
MAX_FACTORIAL = 2500
"""Largest n of n! and of binomial coefficients that is computed."""
MAX_OPERATIONS = 250
"""Most operations of one expression."""
MAX_EVALUATIONS = 300
"""Pairs of expressions that one comparison may evaluate."""

_ALGEBRA_CHARACTERS = 600
_ALGEBRA_DEPTH = 12
_HUGE = re.compile(r"\d{300}|\^[ {(]*\d{4}|\d{4} ?!|\) ?\^[ {(]*\d{3}|\^[ {(]*\d+[ {(]*\^|! ?!")
_OPENING = frozenset("([{⦃⟨")
_CLOSING = frozenset(")]}⦄⟩")


class TooLarge(Exception):
    """Raised when an answer needs more than the limits allow."""


def nesting(text: str) -> int:
    """Depth of the deepest bracket in canonical text."""
    depth = deepest = 0
    for character in text:
        if character in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif character in _CLOSING:
            depth -= 1
    return deepest


def too_large_for_algebra(text: str) -> bool:
    """Whether computer algebra is sure to be lost on a text.

    The parser of math-verify takes time that is exponential in the depth, and towers of powers and
    large factorials never end.
    """
    return (
        len(text) > _ALGEBRA_CHARACTERS
        or nesting(text) > _ALGEBRA_DEPTH
        or _HUGE.search(text) is not None
    )

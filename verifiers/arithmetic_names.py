"""Values of names that a solution states (`x = 12`, `A = (3 - 5) = -2`), carried between steps.

A name keeps a value only while there is no doubt about it: it is stated outright, not in a case, a
supposition or a list of solutions, and never with another value. A name in doubt has no value for
the rest of the solution, so what is said with it stays unknown.
"""

import re
from collections.abc import Sequence

from stepmill.verifiers.arithmetic_tokens import NAME, WORD, Token, Value

_LEADS = frozenset(
    ["so", "then", "thus", "therefore", "hence", "that", "have", "has", "get", "gets", "gives", "find", "calculate", "compute", "where", "and", "with", "is", "now", "let", "let's", "evaluate", "obtain", "yields"]  # "say" and "when" put a case
)
"""Words that may stand before `x = 12` where it is stated outright."""

_MORE_VALUES = re.compile(
    r"[\s)$\\}\]]*(?:,?\s*(?:\\text\s*\{\s*)?(?:or|and|to)\b\s*(?:\$|\\\()?\s*(?:[-+]?\d|[A-Za-z]\s*=\s*)"
    r"|,\s*(?:\$|\\\()?\s*[-+]?\s*(?:\\[a-z]|\d|\.))"
    r"|[\s)$\\}\]]*(?:or\b|\\pm|±|\\ldots|\.\.\.|…|\\text\s*\{\s*or)",
)


class Names:
    """The names of one solution with the values stated so far."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        """Names without doubt."""
        self.inexact: set[str] = set()
        """Names whose value was written with decimals, so it may be rounded."""
        self._doubtful: set[str] = set()

    def state(self, name: str, value: Value, *, exact: bool) -> None:
        """Takes `name = value`; a second, other value puts the name in doubt."""
        if name in self._doubtful:
            return
        if self.values.get(name, value) != value:
            self.doubt(name)
            return
        self.values[name] = value
        if not exact:
            self.inexact.add(name)

    def doubt(self, name: str) -> None:
        """The name has no certain value from here on."""
        self._doubtful.add(name)
        self.values.pop(name, None)


def stated_name(segment: Sequence[Token]) -> tuple[str, bool] | None:
    """The name alone on the left of a relation, as in `so x =`, and whether it is stated outright.

    Returns:
        None where the segment ends otherwise; False for `when x =`, `the line y =`.
    """
    if not segment or segment[-1].kind != NAME:
        return None
    if len(segment) == 1:
        return segment[0].text, True
    lead = segment[-2]
    if lead.kind != WORD or segment[-1].glued:
        return None
    return segment[-1].text, lead.text.lower() in _LEADS


def only_value(text: str, end: int) -> bool:
    """Whether the value that ends at `end` is the only one: not `3 or 5`, `3, 5` or `3 ± 1`."""
    return _MORE_VALUES.match(text, end) is None

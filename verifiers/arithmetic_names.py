"""Values of names that a solution states (`x = 12`, `A = (3 - 5) = -2`), carried between steps.

A name keeps a value only while there is no doubt about it: it is stated outright, not in a case, a
supposition or a list of solutions, and never with another value. A name in doubt has no value for
the rest of the solution, so what is said with it stays unknown.

A name that stood in an equation before it had a value was solved for. Other equations may have
other solutions, so such a name is read only where its value is plainly put in its place.
"""

import re
from collections.abc import Iterable, Sequence

from stepmill.verifiers.arithmetic_sides import Side
from stepmill.verifiers.arithmetic_tokens import NAME, NUMBER, WORD, Token, Value

_LEADS = """so then thus therefore hence that have has get gets give gives find calculate compute
    where and with is now let let's evaluate obtain yields know"""
_STEP_LEADS = frozenset(_LEADS.split())
_QUESTION_LEADS = _STEP_LEADS | {"if", "given", "suppose", "assume"}
_MORE_VALUES = re.compile(
    r"[\s)$\\}\]]*(?:or\b|\\pm|±|\\[lc]?dots|\.\.\.|…|\\text\s*\{\s*or\b"
    r"|,?\s*(?:or|and|to)\s+(?:\$|\\\()?\s*(?:[-+]?\d|(?P<name>[A-Za-z](?:_\w+)?)\s*=)"
    r"|,\s*(?:\$|\\\()?\s*[-+]?\s*(?:\\[a-z]|\d|\.\.))"
)
_SOLVES = re.compile(
    r"\b(?:solv\w+|equations?|roots?|solutions?|set(?:ting)?|satisf\w+|inequalit\w+|cases?|system"
    r"|quadratic|factor\w*|absolute|either|branch\w*|possib\w+|lines?|graphs?|curves?|intersect\w*"
    r"|function\w*|axis|vertex|slope)\b",
    re.IGNORECASE,
)


class Names:
    """The names of one solution with the values stated so far."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        """Names without doubt."""
        self.inexact: set[str] = set()
        """Names whose value was written with decimals, so it may be rounded."""
        self._solved_for: set[str] = set()
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

    def meet(self, tokens: Iterable[Token]) -> None:
        """Takes note of names that stand in an equation before they have a value."""
        for token in tokens:
            if token.kind == NAME and token.text not in self.values:
                self._solved_for.add(token.text)

    def decides(self, text: str, left: Side, right: Side) -> bool:
        """Whether the values make a claim with names false when its sides differ."""
        named, numeric = (left, right) if left.has_names else (right, left)
        if self._put_in(named, numeric):
            return True
        used = {token.text for token in named.tokens if token.kind == NAME}
        return not (used & self._solved_for or _SOLVES.search(text))

    def _put_in(self, named: Side, numeric: Side) -> bool:
        """Whether `numeric` is `named` with numbers in the places of its names.

        Signs and brackets are left aside; at least one number must be the one to expect, so that
        `A - B = -12 - 8` is taken for what it is when A is -12 and B is -8.
        """
        atoms = [token for token in named.tokens if token.kind in (NAME, NUMBER)]
        numbers = [token.value for token in numeric.tokens if token.kind == NUMBER]
        if len(atoms) != len(numbers) or len(atoms) < 2:
            return False
        found = 0
        for atom, number in zip(atoms, numbers, strict=True):
            expected = atom.value if atom.kind == NUMBER else self.values.get(atom.text)
            if number is None or expected is None:
                return False
            if abs(number) == abs(expected):
                found += 1
            elif atom.kind == NUMBER:
                return False
        return found > 0


def stated_name(segment: Sequence[Token], *, question: bool = False) -> tuple[str, bool] | None:
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
    leads = _QUESTION_LEADS if question else _STEP_LEADS
    return segment[-1].text, lead.text.lower() in leads


def only_value(text: str, end: int, name: str) -> bool:
    """Whether `name` has no value but the one that ends at `end`: not `3 or 5`, `3, 5`, `3 ± 1`."""
    more = _MORE_VALUES.match(text, end)
    return more is None or more["name"] not in (None, name)

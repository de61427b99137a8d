"""Ordering puzzles: constraints between the positions of named things.

Positions are whole numbers from 1 (leftmost, oldest, first) up. A constraint is a linear one
(linear.py) or a relation below. A constraint program has the layout of Logic-LM (Pan et al., 2023,
https://github.com/teacherpeterpan/Logic-LLM): `Domain:` with names of positions, `Variables:` with
`book [IN] [1, 2, 3]`, then `Constraints:` and `Query:` with one constraint a line and its meaning
after `:::`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from stepmill.verifiers.logic.linear import Relation, parse_linear
from stepmill.verifiers.logic.reading import ParseError, check_length
from stepmill.verifiers.logic.syntax import And, Compare, Distinct, Formula, Linear, Or, numbers

MAX_VARIABLES = 100
MAX_VALUES = 1_000
"""Of one variable."""

_SECTIONS = ("Domain", "Variables", "Constraints", "Query")
_VARIABLE = re.compile(r"([^\W\d]\w*)\s*\[IN\]\s*\[([-\d,\s]+)\]")
_DOMAIN = re.compile(r"(-?\d{1,9})\s*:\s*(.+)")
_OPTION = re.compile(r"([A-Z])\)\s*(.+)")
_ONE = Linear((), Fraction(1))


@dataclass(frozen=True, slots=True)
class Constraint:
    """One line of a program."""

    formula: Formula
    text: str
    """As written, without the meaning."""
    meaning: str = ""
    """What the line says, in words; empty when the program does not tell."""


@dataclass(frozen=True, slots=True)
class PuzzleProgram:
    """A constraint program."""

    positions: dict[int, str]
    """Names of positions, such as 1: leftmost."""
    variables: dict[str, tuple[int, ...]]
    """The values that each variable may have."""
    constraints: tuple[Constraint, ...]
    options: dict[str, Constraint]
    """The claims of the query by letter."""

    def ranges(self) -> list[Formula]:
        """The formulas that keep each variable to its values."""
        return [_among(name, values) for name, values in self.variables.items()]


def parse_puzzle(text: str) -> Formula:
    """Read one constraint on positions: a linear one, or a relation such as `next_to(a, b)`.

    Raises:
        ParseError: the text is not a constraint.
    """
    return parse_linear(text, RELATIONS)


def parse_program(text: str) -> PuzzleProgram:
    """Read a constraint program.

    Raises:
        ParseError: a line cannot be read, names an unknown variable, or is in no section.
    """
    sections: dict[str, list[str]] = {name: [] for name in _SECTIONS}
    section = None
    for line in text.splitlines():
        check_length(line)
        stripped = line.strip()
        if stripped.rstrip(":") in _SECTIONS and stripped.endswith(":"):
            section = stripped.rstrip(":")
        elif stripped and section is None:
            raise ParseError(f"line {stripped!r} is before the first of: {', '.join(_SECTIONS)}")
        elif stripped and section is not None:
            sections[section].append(stripped)
    variables = _variables(sections["Variables"])
    program = PuzzleProgram(
        _positions(sections["Domain"]),
        variables,
        tuple(_constraint(line) for line in sections["Constraints"]),
        dict(_option(line) for line in sections["Query"]),
    )
    for constraint in (*program.constraints, *program.options.values()):
        _check_names(constraint, variables)
    return program


def _positions(lines: list[str]) -> dict[int, str]:
    found = [(_DOMAIN.fullmatch(line), line) for line in lines]
    for match, line in found:
        if match is None:
            raise ParseError(f"line {line!r} is not `position: name`")
    return {int(match[1]): match[2] for match, _ in found if match}


def _variables(lines: list[str]) -> dict[str, tuple[int, ...]]:
    if not 0 < len(lines) <= MAX_VARIABLES:
        raise ParseError(f"{len(lines)} variables; from 1 to {MAX_VARIABLES} are read")
    variables: dict[str, tuple[int, ...]] = {}
    for line in lines:
        match = _VARIABLE.fullmatch(line)
        if match is None:
            raise ParseError(f"line {line!r} is not `name [IN] [1, 2, …]`")
        values = [value.strip() for value in match[2].split(",")]
        if len(values) > MAX_VALUES or not all(re.fullmatch(r"-?\d{1,9}", v) for v in values):
            raise ParseError(f"the values of {match[1]!r} are not at most {MAX_VALUES} integers")
        if match[1] in variables:
            raise ParseError(f"variable {match[1]!r} is there twice")
        variables[match[1]] = tuple(int(value) for value in values)
    return variables


def _constraint(line: str) -> Constraint:
    text, _, meaning = line.partition(":::")
    return Constraint(parse_puzzle(text), text.strip(), meaning.strip())


def _option(line: str) -> tuple[str, Constraint]:
    match = _OPTION.fullmatch(line)
    if match is None:
        raise ParseError(f"line {line!r} is not `A) constraint`")
    return match[1], _constraint(match[2])


def _check_names(constraint: Constraint, variables: dict[str, tuple[int, ...]]) -> None:
    for number in numbers(constraint.formula):
        for name, _ in number.coefficients:
            if name not in variables:
                raise ParseError(f"{constraint.text!r} speaks of {name!r}, which is no variable")


def _among(name: str, values: Sequence[int]) -> Formula:
    variable = Linear(((name, Fraction(1)),), Fraction(0))
    low, high = min(values), max(values)
    if len(set(values)) == high - low + 1:
        return And((Compare("<=", _at(low), variable), Compare("<=", variable, _at(high))))
    return Or(tuple(Compare("=", variable, _at(value)) for value in sorted(set(values))))


def _at(position: int) -> Linear:
    return _ONE.times(Fraction(position))


def _between_two(signs: Callable[[Linear, Linear], Formula], name: str) -> Relation:
    def relation(args: Sequence[Linear]) -> Formula:
        if len(args) != 2:
            raise ParseError(f"{name} takes 2 positions, got {len(args)}")
        return signs(args[0], args[1])

    return relation


def _distinct(args: Sequence[Linear]) -> Formula:
    if len(args) < 2:
        raise ParseError(f"distinct takes 2 positions or more, got {len(args)}")
    return Distinct(tuple(args))


def _ordered(args: Sequence[Linear]) -> Formula:
    if len(args) < 2:
        raise ParseError(f"ordered takes 2 positions or more, got {len(args)}")
    links = tuple(Compare("<", left, right) for left, right in pairwise(args))
    return links[0] if len(links) == 1 else And(links)


def _between(args: Sequence[Linear]) -> Formula:
    if len(args) != 3:
        raise ParseError(f"between takes 3 positions, got {len(args)}")
    middle, one, other = args
    return Or((_ordered((one, middle, other)), _ordered((other, middle, one))))


def _next_to(a: Linear, b: Linear) -> Formula:
    return Or((Compare("=", a, b.plus(_ONE)), Compare("=", b, a.plus(_ONE))))


def _from_right(args: Sequence[Linear]) -> Formula:
    if len(args) != 3:
        raise ParseError(f"nth_from_right takes thing, n and the number of places, got {len(args)}")
    thing, n, places = args
    return Compare("=", thing, places.plus(_ONE).plus(n, Fraction(-1)))


RELATIONS: dict[str, Relation] = {
    "AllDifferentConstraint": _distinct,
    "distinct": _distinct,
    "ordered": _ordered,
    "left_of": _between_two(lambda a, b: Compare("<", a, b), "left_of"),
    "right_of": _between_two(lambda a, b: Compare(">", a, b), "right_of"),
    "just_left_of": _between_two(lambda a, b: Compare("=", a.plus(_ONE), b), "just_left_of"),
    "just_right_of": _between_two(lambda a, b: Compare("=", a, b.plus(_ONE)), "just_right_of"),
    "next_to": _between_two(_next_to, "next_to"),
    "between": _between,
    "nth_from_left": _between_two(lambda a, n: Compare("=", a, n), "nth_from_left"),
    "nth_from_right": _from_right,
}
"""Relations between positions. `between(a, b, c)` puts a between b and c; `nth_from_right(a, 2, 5)`
makes a the second from the right of 5 places."""

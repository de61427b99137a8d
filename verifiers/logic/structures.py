"""Finite structures, and what is true in one, decided without a solver.

This is the second opinion on every counter-model: a claim is called not entailed only if the
structure that Z3 gave makes the premises true and the claim false here as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from stepmill.verifiers.claims import JsonValue
from stepmill.verifiers.logic.syntax import (
    And,
    Apply,
    Atom,
    Compare,
    Const,
    Distinct,
    Equal,
    Exists,
    ForAll,
    Formula,
    Iff,
    Implies,
    Linear,
    Not,
    Or,
    Term,
    Var,
    Xor,
)

MAX_WORK = 200_000
"""Atoms looked at before `holds` gives up."""


class TooMuchWork(Exception):
    """Raised when a formula cannot be evaluated within `MAX_WORK`."""


@dataclass(frozen=True, slots=True)
class Structure:
    """Individuals, and what is true of them."""

    individuals: tuple[str, ...]
    """At least one, by any names."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Which individual a name means."""
    relations: Mapping[str, frozenset[tuple[str, ...]]] = field(default_factory=dict)
    """The tuples that a predicate is true of; a proposition is true of the empty tuple."""
    functions: Mapping[str, Mapping[tuple[str, ...], str]] = field(default_factory=dict)
    numbers: Mapping[str, Fraction] = field(default_factory=dict)

    def as_dict(self) -> dict[str, JsonValue]:
        """Plain JSON values, for evidence: only what is there."""
        shown: dict[str, JsonValue] = {}
        if self.constants or self.relations:
            shown["individuals"] = list(self.individuals)
        if self.constants:
            shown["constants"] = dict(self.constants)
        if self.relations:
            shown["true"] = sorted(
                name + (f"({', '.join(args)})" if args else "")
                for name, rows in self.relations.items()
                for args in rows
            )
        if self.functions:
            shown["functions"] = {
                f"{name}({', '.join(args)})": value
                for name, rows in self.functions.items()
                for args, value in rows.items()
            }
        if self.numbers:
            shown["numbers"] = {name: str(value) for name, value in self.numbers.items()}
        return shown


def holds(structure: Structure, formula: Formula) -> bool:
    """Whether a formula without free variables is true in the structure.

    Raises:
        TooMuchWork: too many individuals for the quantifiers.
        KeyError: the structure says nothing of a name in the formula.
    """
    return _Evaluation(structure).true(formula, {})


class _Evaluation:
    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._work = 0

    def true(self, formula: Formula, bound: dict[str, str]) -> bool:
        match formula:
            case Atom(predicate, args):
                self._count()
                rows = self._structure.relations[predicate]
                return tuple(self._individual(a, bound) for a in args) in rows
            case Equal(left, right):
                self._count()
                return self._individual(left, bound) == self._individual(right, bound)
            case Compare() | Distinct():
                self._count()
                return self._true_of_numbers(formula)
            case Not(body):
                return not self.true(body, bound)
            case And(parts):
                return all(self.true(part, bound) for part in parts)
            case Or(parts):
                return any(self.true(part, bound) for part in parts)
            case Implies(left_part, right_part):
                return not self.true(left_part, bound) or self.true(right_part, bound)
            case Iff(left_part, right_part):
                return self.true(left_part, bound) == self.true(right_part, bound)
            case Xor(left_part, right_part):
                return self.true(left_part, bound) != self.true(right_part, bound)
            case ForAll(variable, body):
                everyone = self._structure.individuals
                return all(self.true(body, {**bound, variable: one}) for one in everyone)
            case Exists(variable, body):
                everyone = self._structure.individuals
                return any(self.true(body, {**bound, variable: one}) for one in everyone)

    def _count(self) -> None:
        self._work += 1
        if self._work > MAX_WORK:
            raise TooMuchWork

    def _individual(self, term: Term, bound: dict[str, str]) -> str:
        match term:
            case Var(name):
                return bound[name]
            case Const(name):
                return self._structure.constants[name]
            case Apply(function, args):
                values = tuple(self._individual(arg, bound) for arg in args)
                return self._structure.functions[function][values]

    def _true_of_numbers(self, formula: Compare | Distinct) -> bool:
        if isinstance(formula, Distinct):
            values = [self._number(side) for side in formula.numbers]
            return len(set(values)) == len(values)
        left, right = self._number(formula.left), self._number(formula.right)
        match formula.sign:
            case "<":
                return left < right
            case "<=":
                return left <= right
            case "=":
                return left == right
            case "!=":
                return left != right
            case ">=":
                return left >= right
        return left > right

    def _number(self, number: Linear) -> Fraction:
        values = self._structure.numbers
        if len(number.coefficients) == 1 and not number.constant:
            ((name, coefficient),) = number.coefficients
            return values[name] if coefficient == 1 else coefficient * values[name]
        return number.constant + sum(c * values[name] for name, c in number.coefficients)

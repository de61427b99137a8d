"""First-order formulas: the one form that every notation is read into.

Individuals and numbers are kept apart: predicates speak of individuals, `Compare` and `Distinct` of
exact linear expressions over named numbers. Nothing here knows a notation or a solver.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Var:
    """An individual bound by a quantifier."""

    name: str


@dataclass(frozen=True, slots=True)
class Const:
    """A named individual; two names may mean the same one."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """The individual that a function gives."""

    function: str
    args: "tuple[Term, ...]"


Term = Var | Const | Apply


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of multiples of named numbers and a constant."""

    coefficients: tuple[tuple[str, Fraction], ...]
    """Sorted by name, each name once, no zeros."""
    constant: Fraction

    @staticmethod
    def of(coefficients: dict[str, Fraction], constant: Fraction) -> "Linear":
        """The normal form of a sum."""
        return Linear(tuple(sorted((n, c) for n, c in coefficients.items() if c)), constant)

    def plus(self, other: "Linear", factor: Fraction = Fraction(1)) -> "Linear":
        """`self + factor * other`."""
        sums = dict(self.coefficients)
        for name, coefficient in other.coefficients:
            sums[name] = sums.get(name, Fraction(0)) + factor * coefficient
        return Linear.of(sums, self.constant + factor * other.constant)

    def times(self, factor: Fraction) -> "Linear":
        """`factor * self`."""
        return Linear.of({n: factor * c for n, c in self.coefficients}, factor * self.constant)


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate of individuals; without arguments, a proposition."""

    predicate: str
    args: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Equal:
    """Two names of one individual."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Compare:
    """An order or equality between numbers."""

    sign: str
    """One of `<`, `<=`, `=`, `!=`, `>=`, `>`."""
    left: Linear
    right: Linear


@dataclass(frozen=True, slots=True)
class Distinct:
    """No two of these numbers are equal."""

    numbers: tuple[Linear, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    body: "Formula"


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of two or more parts."""

    parts: "tuple[Formula, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """Inclusive disjunction of two or more parts."""

    parts: "tuple[Formula, ...]"


@dataclass(frozen=True, slots=True)
class Implies:
    """Material implication."""

    left: "Formula"
    right: "Formula"


@dataclass(frozen=True, slots=True)
class Iff:
    """Equivalence."""

    left: "Formula"
    right: "Formula"


@dataclass(frozen=True, slots=True)
class Xor:
    """One of two, not both."""

    left: "Formula"
    right: "Formula"


@dataclass(frozen=True, slots=True)
class ForAll:
    """True of every individual; there is at least one."""

    variable: str
    body: "Formula"


@dataclass(frozen=True, slots=True)
class Exists:
    """True of some individual."""

    variable: str
    body: "Formula"


Formula = Atom | Equal | Compare | Distinct | Not | And | Or | Implies | Iff | Xor | ForAll | Exists


def subformulas(formula: Formula) -> Iterator[Formula]:
    """The formula and every formula inside it, outermost first."""
    waiting = [formula]
    while waiting:
        inner = waiting.pop()
        yield inner
        match inner:
            case Not(body) | ForAll(_, body) | Exists(_, body):
                waiting.append(body)
            case And(parts) | Or(parts):
                waiting.extend(reversed(parts))
            case Implies(left, right) | Iff(left, right) | Xor(left, right):
                waiting.extend((right, left))


def terms(formula: Formula) -> Iterator[Term]:
    """Every term in the formula, with the terms inside it."""
    for inner in subformulas(formula):
        waiting: list[Term] = []
        match inner:
            case Atom(_, args):
                waiting.extend(args)
            case Equal(left, right):
                waiting.extend((left, right))
        while waiting:
            term = waiting.pop()
            yield term
            if isinstance(term, Apply):
                waiting.extend(term.args)


def numbers(formula: Formula) -> Iterator[Linear]:
    """Every linear expression in the formula."""
    for inner in subformulas(formula):
        match inner:
            case Compare(_, left, right):
                yield left
                yield right
            case Distinct(sides):
                yield from sides


def conjunction(parts: list[Formula]) -> Formula:
    """The parts joined by `and`; one part stands for itself."""
    return parts[0] if len(parts) == 1 else And(tuple(parts))

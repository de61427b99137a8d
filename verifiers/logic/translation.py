"""Formulas into Z3, and Z3's models back into structures.

One sort of individuals; numbers are reals, or integers where the problem says so. Names are
declared as they are met. z3 is imported when a translator is made.
"""

import itertools
from collections.abc import Collection, Iterable
from fractions import Fraction
from typing import Any

from stepmill.verifiers.logic.reading import ParseError
from stepmill.verifiers.logic.smtlib import SmtTerm, check_declarations
from stepmill.verifiers.logic.structures import Structure
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
    numbers,
    subformulas,
    terms,
)

MAX_ROWS = 20_000
"""Tuples of individuals asked of one model."""


class Translator:
    """Turns formulas of one problem into Z3 expressions.

    Not safe for two threads: it works in Z3's main context, since each further context of a
    process leaks memory.

    Args:
        integers: named numbers that are whole.
        declarations: SMT-LIB declarations for the problem's `SmtTerm`s.

    Raises:
        ParseError: the declarations are not only declarations.
    """

    def __init__(self, integers: Collection[str] = (), declarations: str = "") -> None:
        import z3  # heavy

        check_declarations(declarations)
        self._z3 = z3
        self._integers = frozenset(integers)
        self._declarations = declarations
        self._individuals = z3.DeclareSort("Individual")
        self._arities: dict[tuple[str, str], int] = {}
        self._symbols: dict[tuple[str, str], Any] = {}

    def translate(self, claim: Formula | SmtTerm) -> Any:  # noqa: ANN401 - z3 is untyped
        """The claim as a Z3 expression.

        Raises:
            ParseError: a name has two numbers of arguments, or Z3 refuses an SMT-LIB term.
        """
        return self._smt(claim) if isinstance(claim, SmtTerm) else self._formula(claim, {})

    def negation(self, expression: Any) -> Any:  # noqa: ANN401
        """The negation of a translated claim."""
        return self._z3.Not(expression)

    def _smt(self, term: SmtTerm) -> Any:  # noqa: ANN401
        try:
            # the line break ends a comment in the term
            parsed = self._z3.parse_smt2_string(f"{self._declarations}\n(assert {term.text}\n)")
        except self._z3.Z3Exception as error:
            raise ParseError(f"Z3 does not read it: {_message(error)}") from error
        return self._z3.And(*parsed) if len(parsed) != 1 else parsed[0]

    def _formula(self, formula: Formula, bound: dict[str, Any]) -> Any:  # noqa: ANN401
        z3 = self._z3
        match formula:
            case Atom(predicate, args):
                return self._symbol("predicate", predicate, args, bound)
            case Equal(left, right):
                return self._individual(left, bound) == self._individual(right, bound)
            case Compare(sign, left_number, right_number):
                return self._compare(sign, left_number, right_number)
            case Distinct(sides):
                return z3.Distinct(*map(self._number, sides))
            case Not(body):
                return z3.Not(self._formula(body, bound))
            case And(parts):
                return z3.And(*[self._formula(part, bound) for part in parts])
            case Or(parts):
                return z3.Or(*[self._formula(part, bound) for part in parts])
            case Implies(left_part, right_part):
                return z3.Implies(self._formula(left_part, bound), self._formula(right_part, bound))
            case Iff(left_part, right_part):
                return self._formula(left_part, bound) == self._formula(right_part, bound)
            case Xor(left_part, right_part):
                return z3.Xor(self._formula(left_part, bound), self._formula(right_part, bound))
            case ForAll(variable, body):
                one = z3.Const(f"{variable}?", self._individuals)
                return z3.ForAll([one], self._formula(body, {**bound, variable: one}))
            case Exists(variable, body):
                one = z3.Const(f"{variable}?", self._individuals)
                return z3.Exists([one], self._formula(body, {**bound, variable: one}))

    def _symbol(self, kind: str, name: str, args: tuple[Term, ...], bound: dict[str, Any]) -> Any:  # noqa: ANN401
        known = self._arities.setdefault((kind, name), len(args))
        if known != len(args):
            raise ParseError(f"{kind} {name!r} has {known} arguments and {len(args)} elsewhere")
        if (kind, name) not in self._symbols:
            self._symbols[kind, name] = self._declare(kind, name, len(args))
        symbol = self._symbols[kind, name]
        return symbol(*[self._individual(arg, bound) for arg in args]) if args else symbol

    def _declare(self, kind: str, name: str, arity: int) -> Any:  # noqa: ANN401
        sort = self._z3.BoolSort() if kind == "predicate" else self._individuals
        if not arity:
            return self._z3.Const(name, sort)
        return self._z3.Function(name, *[self._individuals] * arity, sort)

    def _individual(self, term: Term, bound: dict[str, Any]) -> Any:  # noqa: ANN401
        match term:
            case Var(name):
                return bound[name]
            case Const(name):
                return self._symbol("function", name, (), bound)
            case Apply(function, args):
                return self._symbol("function", function, args, bound)

    def _compare(self, sign: str, left: Linear, right: Linear) -> Any:  # noqa: ANN401
        a, b = self._number(left), self._number(right)
        match sign:
            case "<":
                return a < b
            case "<=":
                return a <= b
            case "=":
                return a == b
            case "!=":
                return a != b
            case ">=":
                return a >= b
        return a > b

    def _number(self, number: Linear) -> Any:  # noqa: ANN401
        z3 = self._z3
        parts = [self._multiple(name, c) for name, c in number.coefficients]
        if number.constant or not parts:
            whole = all(name in self._integers for name, _ in number.coefficients)
            whole = whole and number.constant.denominator == 1
            constant = number.constant
            parts.append(z3.IntVal(int(constant)) if whole else z3.RealVal(str(constant)))
        return parts[0] if len(parts) == 1 else z3.Sum(parts)

    def _multiple(self, name: str, coefficient: Fraction) -> Any:  # noqa: ANN401
        number = self._named_number(name)
        if coefficient == 1:
            return number
        if name in self._integers and coefficient.denominator == 1:
            return self._z3.IntVal(int(coefficient)) * number
        return self._z3.RealVal(str(coefficient)) * number

    def _named_number(self, name: str) -> Any:  # noqa: ANN401
        if ("number", name) not in self._symbols:
            make = self._z3.Int if name in self._integers else self._z3.Real
            self._symbols["number", name] = make(name)
        return self._symbols["number", name]

    def structure(self, model: Any, formulas: Iterable[Formula]) -> Structure | None:  # noqa: ANN401
        """What a model says of every name in the formulas.

        None when that cannot be said in exact numbers, or not in `MAX_ROWS` tuples.
        """
        names = _Names(formulas)
        universe = self._universe(model)
        rows = sum(
            len(universe) ** n for n in (*names.predicates.values(), *names.functions.values())
        )
        if rows > MAX_ROWS:
            return None
        shown = {one.get_id(): f"e{i}" for i, one in enumerate(universe)}

        def named(value: Any) -> str:  # noqa: ANN401
            return shown[model.eval(value, model_completion=True).get_id()]

        def table(kind: str, name: str, arity: int) -> dict[tuple[str, ...], Any]:
            symbol = self._symbols[kind, name]
            return {
                tuple(shown[one.get_id()] for one in args): symbol(*args) if args else symbol
                for args in itertools.product(universe, repeat=arity)
            }

        def true(value: Any) -> bool:  # noqa: ANN401
            return bool(self._z3.is_true(model.eval(value, model_completion=True)))

        values = {name: self._value(model, name) for name in sorted(names.numbers)}
        exact = {name: value for name, value in values.items() if value is not None}
        if len(exact) < len(values):
            return None
        return Structure(
            individuals=tuple(shown.values()),
            constants={c: named(self._symbols["function", c]) for c in sorted(names.constants)},
            relations={
                p: frozenset(
                    args for args, value in table("predicate", p, n).items() if true(value)
                )
                for p, n in sorted(names.predicates.items())
            },
            functions={
                f: {args: named(value) for args, value in table("function", f, n).items()}
                for f, n in sorted(names.functions.items())
            },
            numbers=exact,
        )

    def _universe(self, model: Any) -> list[Any]:  # noqa: ANN401
        """The individuals of a model; a model that needs none has one all the same."""
        if model.get_universe(self._individuals):
            return list(model.get_universe(self._individuals))
        anyone = self._z3.Const("anyone?", self._individuals)
        return [model.eval(anyone, model_completion=True)]

    def _value(self, model: Any, name: str) -> Fraction | None:  # noqa: ANN401
        value = model.eval(self._named_number(name), model_completion=True)
        if self._z3.is_int_value(value):
            return Fraction(value.as_long())
        if self._z3.is_rational_value(value):
            return Fraction(value.numerator_as_long(), value.denominator_as_long())
        return None


class _Names:
    """The names in some formulas by what they stand for."""

    def __init__(self, formulas: Iterable[Formula]) -> None:
        self.predicates: dict[str, int] = {}
        self.functions: dict[str, int] = {}
        self.constants: set[str] = set()
        self.numbers: set[str] = set()
        for formula in formulas:
            self.predicates.update(
                (inner.predicate, len(inner.args))
                for inner in subformulas(formula)
                if isinstance(inner, Atom)
            )
            for term in terms(formula):
                if isinstance(term, Apply):
                    self.functions[term.function] = len(term.args)
                elif isinstance(term, Const):
                    self.constants.add(term.name)
            self.numbers.update(n for side in numbers(formula) for n, _ in side.coefficients)


def _message(error: Exception) -> str:
    """Z3's complaint on one line."""
    text = error.args[0] if error.args else str(error)
    text = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    return " ".join(text.split())[:200]

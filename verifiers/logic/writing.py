"""Formulas written out, so that a person can read what was checked.

`to_fol` and `to_fld` are read back by `parse_fol` and `parse_fld` to the same formula.
"""

from fractions import Fraction

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
    Xor,
)

_FOL_SIGNS = {"and": "∧", "or": "∨", "implies": "→", "iff": "↔", "xor": "⊕"}
_FLD_SIGNS = {"and": "&", "or": "v", "implies": "->", "iff": "<->"}


def to_fol(formula: Formula) -> str:
    """First-order text; numbers as in `to_linear`."""
    match formula:
        case Atom(predicate, args):
            return predicate + (f"({', '.join(map(_term, args))})" if args else "")
        case Equal(left, right):
            return f"{_term(left)} = {_term(right)}"
        case Not(body):
            return f"¬{_bracketed(body)}"
        case ForAll(variable, body):
            return f"∀{variable} {_bracketed(body)}"
        case Exists(variable, body):
            return f"∃{variable} {_bracketed(body)}"
        case Compare(sign, left_number, right_number):
            return f"{to_linear(left_number)} {sign} {to_linear(right_number)}"
        case Distinct(sides):
            return f"distinct({', '.join(map(to_linear, sides))})"
    kind, parts = _joined(formula)
    return f" {_FOL_SIGNS[kind]} ".join(map(_bracketed, parts))


def to_fld(formula: Formula) -> str:
    """FLD symbols; a formula they cannot express raises ValueError."""
    match formula:
        case Atom(predicate, args):
            return f"{{{predicate}}}" + "".join(map(_fld_individual, args))
        case Not(body):
            return f"¬{_fld_bracketed(body)}"
        case ForAll(variable, body):
            return f"({variable}): {_fld_bracketed(body)}"
        case Exists(variable, body):
            return f"(E{variable}): {_fld_bracketed(body)}"
        case And() | Or() | Implies() | Iff():
            kind, parts = _joined(formula)
            return f" {_FLD_SIGNS[kind]} ".join(map(_fld_bracketed, parts))
    raise ValueError(f"{to_fol(formula)!r} has no form in FLD")


def to_linear(number: Linear) -> str:
    """A sum such as `2*x - 1/3*y + 4`."""
    pieces = [_multiple(coefficient, name) for name, coefficient in number.coefficients]
    if number.constant or not pieces:
        pieces.append(_multiple(number.constant, ""))
    first, *rest = pieces
    return first + "".join(f" - {p[1:]}" if p.startswith("-") else f" + {p}" for p in rest)


def _multiple(coefficient: Fraction, name: str) -> str:
    if not name:
        return str(coefficient)
    if abs(coefficient) == 1:
        return name if coefficient > 0 else f"-{name}"
    return f"{coefficient}*{name}"


def _joined(formula: Formula) -> tuple[str, tuple[Formula, ...]]:
    match formula:
        case And(parts):
            return "and", parts
        case Or(parts):
            return "or", parts
        case Implies(left, right):
            return "implies", (left, right)
        case Iff(left, right):
            return "iff", (left, right)
        case Xor(left, right):
            return "xor", (left, right)
    raise ValueError(f"not a connective: {formula!r}")


def _bracketed(formula: Formula) -> str:
    text = to_fol(formula)
    return text if isinstance(formula, Atom | Not) else f"({text})"


def _fld_bracketed(formula: Formula) -> str:
    text = to_fld(formula)
    return text if isinstance(formula, Atom | Not) else f"({text})"


def _term(term: Term) -> str:
    if isinstance(term, Apply):
        return f"{term.function}({', '.join(map(_term, term.args))})"
    return term.name


def _fld_individual(term: Term) -> str:
    if isinstance(term, Apply):
        raise ValueError(f"function {term.function!r} has no form in FLD")
    return f"{{{term.name}}}" if isinstance(term, Const) else term.name

r"""Answers with a relation in them: `x = 5`, `y = 2x + 1`, `f(x) = x^2`, `x + y < 3`.

An equation with a name on one side is a labelled value; every equation is also the zero set of a
difference. Inequalities in one variable are in regions.py.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from stepmill.verifiers.answers.evaluate import NotInField, Undefined, coordinate, exact
from stepmill.verifiers.answers.expressions import parse
from stepmill.verifiers.answers.groups import split_top
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.answers.regions import INEQUALITIES
from stepmill.verifiers.answers.sameness import same_value
from stepmill.verifiers.answers.trees import Node, Num, Op, Sym, substituted, symbols

_LABEL = re.compile(
    r"[A-Za-zα-ωΑ-Ω]['*]?(?: ?_ ?(?:\{[^{}]*\}|\w))?|[A-Z]{1,4}[\u0305\u20d7]?"
    r"|(?:m ?)?∠ ?[A-Z]{1,3}"
    r"|[A-Za-z]\w{0,3}(?: ?\^ ?\{? ?-1 ?\}?)?'{0,2} ?\([^()=<>]*\)"
    r"|\\frac ?\{d[a-z]\} ?\{d[a-z]\}|\|[A-Z]{2}\||△ ?[A-Z]{3}|[A-Za-z][A-Za-z ]{2,40}"
)
_FUNCTION = re.compile(r"([A-Za-z]\w{0,3}) ?\( ?([a-z]) ?\)")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A value with its name, both as canonical text."""

    label: str
    """Empty for a chain of constants, `3 + 4 = 7`."""
    value: str
    bound: str = ""
    """`x` in `f(x) = …`."""


@dataclass(frozen=True, slots=True)
class Equation:
    """The zero set of a difference."""

    difference: Node


@dataclass(frozen=True, slots=True)
class Inequality:
    """Where a difference is positive, in more than one variable or not linear in the only one."""

    difference: Node
    strict: bool
    """> 0, otherwise >= 0."""


def read_equation(text: str) -> list[Labelled | Equation]:
    """Readings of a text with `=`, `≈` or `∈` and no inequality."""
    if not any(sign in text for sign in "=≈∈") or not INEQUALITIES.isdisjoint(text):
        return []
    before, roughly, after = text.partition("≈")
    if roughly:
        text = f"{before}={after}" if _LABEL.fullmatch(before.strip()) else before.strip()
    parts = split_top(text.replace("∈", "="), "=")
    if len(parts) < 2 or not all(parts):
        return [Labelled("", text)] if roughly and text and len(parts) == 1 else []
    found: list[Labelled | Equation] = []
    first, last = parts[0], parts[-1]
    if _is_label(first):
        function = _FUNCTION.fullmatch(first)
        found.append(Labelled(first, last, function[2] if function else ""))
    elif len(parts) == 2 and _is_label(last):
        found.append(Labelled(last, first))
    trees = [parse(part) for part in parts]
    known = [t for t in trees if t is not None]
    if len(known) == len(trees):
        if not found and not any(symbols(t) for t in known):
            found.append(Labelled("", last))
        elif len(known) == 2:
            found.append(Equation(Op("sub", (known[0], known[1]))))
    return found


def _is_label(text: str) -> bool:
    if text.startswith("("):
        names = split_top(text[1:-1], ",")
        return len(names) > 1 and all(_LABEL.fullmatch(n) for n in names)
    return _LABEL.fullmatch(text) is not None


def same_label(a: str, b: str) -> bool:
    """Whether two names may stand for one thing: only two different single variables do not."""
    left, right = a.replace(" ", ""), b.replace(" ", "")
    if left == right or not left or not right:
        return True
    return not (isinstance(parse(left), Sym) and isinstance(parse(right), Sym))


def read_inequality(text: str) -> Inequality | None:
    """One inequality that is no region; `a < b` as where b - a > 0."""
    signs = [c for c in text if c in INEQUALITIES or c == "="]
    if len(signs) != 1 or signs[0] not in "<>≤≥":
        return None
    parts = split_top(text, signs[0])
    if len(parts) != 2:  # the sign is in brackets
        return None
    left, right = (parse(part) for part in parts)
    if left is None or right is None:
        return None
    larger, smaller = (left, right) if signs[0] in ">≥" else (right, left)
    return Inequality(Op("sub", (larger, smaller)), signs[0] in "<>")


def same_zero_set(a: Equation, b: Equation) -> bool | None:
    """Whether two equations say the same.

    They do when one difference is a constant multiple of the other; they do not when a point is
    found that solves one only.
    """
    ratio = constant_ratio(a.difference, b.difference)
    if ratio is not None:
        return ratio != 0
    if _separated(a.difference, b.difference) or _separated(b.difference, a.difference):
        return False
    return None


def same_inequality(a: Inequality, b: Inequality) -> bool | None:
    """Whether the differences are positive multiples of each other; None when it is not so."""
    ratio = constant_ratio(a.difference, b.difference)
    if ratio is None or ratio == 0:
        return None
    return ratio > 0 and a.strict == b.strict


def constant_ratio(a: Node, b: Node) -> Fraction | None:
    """The constant a/b, by exact values at several points; None when it varies or is not known."""
    names = sorted(symbols(a) | symbols(b))
    ratios: set[Fraction] = set()
    for point in range(4):
        at = {n: Fraction(coordinate(n, point) % 1009 + 2, 101) for n in names}
        try:
            top, bottom = exact(a, at), exact(b, at)
        except (NotInField, Undefined):
            return None
        if not bottom:
            return None
        ratios.add(top / bottom)
    return ratios.pop() if len(ratios) == 1 else None


def _separated(a: Node, b: Node) -> bool:
    """Whether a point is found that solves a = 0 and not b = 0.

    It is sought along each variable in which a is of degree one or two, with the others fixed.
    """
    names = sorted(symbols(a) | symbols(b))
    for name in sorted(symbols(a)):
        at: dict[str, Node] = {n: Num(Fraction(coordinate(n, 9) % 1009 + 2, 101)) for n in names}
        root = _root_along(substituted(a, {n: v for n, v in at.items() if n != name}), name)
        if root is None:
            continue
        try:
            remainder = substituted(b, at | {name: root})
            if same_value(remainder, Num(Fraction(0)), AnswerPolicy()) is False:
                return True
        except NotInField:
            continue
    return False


def _root_along(node: Node, name: str) -> Node | None:
    """A root of a polynomial of degree one or two in its only variable, by interpolation."""
    try:
        at = [exact(node, {name: Fraction(x)}) for x in (0, 1, 2, 3, -7)]
    except (NotInField, Undefined):
        return None
    square = (at[2] - 2 * at[1] + at[0]) / 2
    slope = at[1] - at[0] - square
    if any(at[i] != at[0] + slope * x + square * x * x for i, x in ((3, 3), (4, -7))):
        return None
    if not square:
        return Num(-at[0] / slope) if slope else None
    root = Op("root", (Num(slope**2 - 4 * square * at[0]), Num(Fraction(2))))
    return Op("div", (Op("sub", (root, Num(slope))), Num(2 * square)))

r"""Answers that hold other answers: tuples, sets, lists, vectors, matrices, and `\pm`.

Only the brackets and separators are read here; the items stay canonical text, and are read and
compared by whoever compares the groups.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from stepmill.verifiers.answers.clean import ROW_END
from stepmill.verifiers.answers.limits import TooLarge
from stepmill.verifiers.answers.trees import Node, Num, Op, Sym

MAX_ITEMS = 200

_PAIRS = {"(": ")", "[": "]", "{": "}", "⦃": "⦄", "⟨": "⟩"}
_CLOSING = frozenset(_PAIRS.values())
_WORD_SEPARATOR = re.compile(r",? (?:and|or) ")
_THOUSANDS = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
_KEPT_COMMA = "\x00"
_MATRIX = re.compile(
    r"\\begin ?\{(?:[pbBvV]|small)?(?P<kind>matrix|array)\}(?:\{[lcr|]*\})?(?P<body>.*)"
    r"\\end ?\{\w+\}",
    re.S,
)
_DETERMINANT = re.compile(r"\\begin ?\{[vV]matrix")


@dataclass(frozen=True, slots=True)
class Group:
    """Several answers in one."""

    kind: Literal["tuple", "interval", "set", "list", "vector"]
    """`tuple`: round brackets, which may be an open interval; `interval`: at least one square
    bracket; `vector`: angle brackets; `list`: no brackets."""
    items: tuple[str, ...]
    closed: tuple[bool, bool] = (False, False)
    """Whether the left and the right bracket is square."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of entries."""

    rows: tuple[tuple[str, ...], ...]


def read_group(text: str) -> Group | None:
    """A group in brackets, or items between separators."""
    opening = text[:1]
    if opening in _PAIRS and opening != "{" and text[-1:] in _CLOSING and _is_wrapped(text):
        items = split_top(text[1:-1], ",;")
        closing = text[-1]
        if opening == "⦃" and closing == "⦄":
            return Group("set", items)
        if len(items) < 2:
            return None
        if opening == "⟨" and closing == "⟩":
            return Group("vector", items)
        if opening in "([" and closing in ")]":
            closed = (opening == "[", closing == "]")
            return Group("interval" if any(closed) else "tuple", items, closed)
        return None
    items = split_list(text)
    return Group("list", items) if len(items) > 1 else None


def _is_wrapped(text: str) -> bool:
    """Whether the first bracket closes only at the end; `(1, 2]` counts, `(1)(2)` does not."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character in _PAIRS) - (character in _CLOSING)
        if depth == 0:
            return position == len(text) - 1
    return False


def split_list(text: str) -> tuple[str, ...]:
    """Items of a list without brackets: between commas, semicolons, `and`, `or`.

    A comma in a number (`x = 1,000`) separates nothing.
    """
    kept = _THOUSANDS.sub(lambda m: m[0].replace(",", _KEPT_COMMA), text)
    items = split_top(_WORD_SEPARATOR.sub(",", kept), ",;")
    return tuple(item.replace(_KEPT_COMMA, ",") for item in items)


def split_top(text: str, separators: str) -> tuple[str, ...]:
    """Parts of a text between separators that are in no bracket, stripped.

    Raises:
        TooLarge: more than `MAX_ITEMS` parts.
    """
    parts, depth, start = list[str](), 0, 0
    for position, character in enumerate(text):
        if character in _PAIRS:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif depth == 0 and character in separators:
            parts.append(text[start:position].strip())
            start = position + 1
    parts.append(text[start:].strip())
    if len(parts) > MAX_ITEMS:
        raise TooLarge("items")
    return tuple(parts)


def read_matrix(text: str) -> Matrix | None:
    """A matrix, if its rows are of one length; a determinant is none."""
    if text[0] in "([" and text[-1] in ")]":
        text = text[1:-1].strip()
    found = _MATRIX.fullmatch(text)
    if found is None or _DETERMINANT.match(text) or "\\begin" in found["body"]:
        return None  # not one matrix, or a determinant
    rows = tuple(
        tuple(entry.strip() for entry in row.split("&"))
        for row in found["body"].split(ROW_END)
        if row.strip()
    )
    if not rows or len({len(row) for row in rows}) != 1:
        return None
    return Matrix(rows)


def vector_entries(matrix: Matrix) -> tuple[str, ...] | None:
    """Entries of a single row or column; None when there are more of both."""
    if len(matrix.rows) == 1:
        return matrix.rows[0]
    return tuple(r[0] for r in matrix.rows) if len(matrix.rows[0]) == 1 else None


def both_signs(text: str) -> tuple[str, ...]:
    r"""The two readings of a text with `\pm` and `\mp`; the text itself when it has none."""
    if "±" not in text and "∓" not in text:
        return (text,)
    return (
        text.replace("±", "+").replace("∓", "-").lstrip("+ "),
        text.replace("±", "-").replace("∓", "+").lstrip("+ "),
    )


def components(node: Node, count: int) -> tuple[Node, ...] | None:
    r"""Coefficients of `\vec{i}`, `\vec{j}`, `\vec{k}` in a sum of them; None for anything else."""
    basis = tuple(Sym(name) for name in ("i⃗", "j⃗", "k⃗"))
    if not any(_mentions(node, b) for b in basis) or any(_mentions(node, b) for b in basis[count:]):
        return None
    return tuple(_at_unit(node, basis, i) for i in range(count))


def _mentions(node: Node, name: Sym) -> bool:
    return node == name or (isinstance(node, Op) and any(_mentions(a, name) for a in node.args))


def _at_unit(node: Node, basis: tuple[Sym, ...], which: int) -> Node:
    """The tree with one basis vector set to 1 and the others to 0."""
    if isinstance(node, Op):
        return Op(node.name, tuple(_at_unit(a, basis, which) for a in node.args))
    return Num(Fraction(node == basis[which])) if node in basis else node

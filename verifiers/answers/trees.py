"""Trees of expressions: numbers, names, operations."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Num:
    """A number."""

    value: Fraction
    places: int | None = None
    """Decimal places it was written with; None when it is exact by its form."""
    continues: bool = False
    """Written with dots after its last place."""


@dataclass(frozen=True, slots=True)
class Sym:
    """A variable, or a constant known by name: `π`, `e`, `i`, `∞`."""

    name: str


@dataclass(frozen=True, slots=True)
class Op:
    """An operation, or a function of `FUNCTIONS` applied to its argument."""

    name: str
    """`add`, `sub`, `mul`, `div`, `pow`, `neg`, `fact`, `binom`, `abs`, `floor`, `ceil`, `deg`
    (degrees to radians), `root` (of, index), `log` (of; the base is not said), `logb` (of, base),
    or a function."""
    args: tuple["Node", ...]


Node = Num | Sym | Op

FUNCTIONS = frozenset((
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "arccot", "sinh",
    "cosh", "tanh", "ln", "exp",
))  # fmt: skip
CONSTANTS = frozenset("πei∞")
"""Names that are no variables."""


def symbols(node: Node) -> frozenset[str]:
    """Names of the variables of a tree; `π`, `e`, `i` and `∞` are none."""
    if isinstance(node, Sym):
        return frozenset() if node.name in CONSTANTS else frozenset((node.name,))
    if isinstance(node, Num):
        return frozenset()
    return frozenset().union(*(symbols(a) for a in node.args))


def substituted(node: Node, values: Mapping[str, Node]) -> Node:
    """The tree with some names replaced by trees."""
    if isinstance(node, Op):
        return Op(node.name, tuple(substituted(a, values) for a in node.args))
    return values.get(node.name, node) if isinstance(node, Sym) else node

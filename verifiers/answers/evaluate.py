"""Exact values of expression trees: rational numbers, and residues modulo a prime.

`exact` knows rational numbers. `residue` knows rational functions of symbols, modulo a prime,
where numbers never grow. Each refuses what it does not know (NotInField) and what would grow
beyond the limits (TooLarge), so that each call ends at once. What neither knows, roots and sines,
is in digits.py.
"""

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import comb, factorial, isqrt

from stepmill.verifiers.answers.limits import MAX_BITS, MAX_FACTORIAL, TooLarge
from stepmill.verifiers.answers.trees import FUNCTIONS, Node, Num, Op, Sym

PRIME = (1 << 127) - 39
"""A prime that is 1 modulo 4, so that -1 has a square root."""


class NotInField(Exception):
    """Raised when an expression has no value in a field."""


class Undefined(Exception):
    """Raised on a division by zero and the like."""


def exact(node: Node, values: Mapping[str, Fraction] | None = None) -> Fraction:
    """Value of a tree whose symbols have the given rational values.

    Raises:
        NotInField: it is not rational, or a symbol has no value.
        Undefined: it divides by zero.
        TooLarge: a number on the way is larger than the limits.
    """
    if isinstance(node, Num):
        return _bounded(node.value)
    if isinstance(node, Sym):
        if values is None or node.name not in values:
            raise NotInField
        return values[node.name]
    if node.name in ("deg", "log", "ln") or node.name in FUNCTIONS:
        raise NotInField
    a = exact(node.args[0], values)
    if len(node.args) == 1:
        return _exact_unary(node.name, a)
    b = exact(node.args[1], values)
    match node.name:
        case "add":
            return _bounded(a + b)
        case "sub":
            return _bounded(a - b)
        case "mul":
            return _bounded(a * b)
        case "div":
            if not b:
                raise Undefined
            return _bounded(a / b)
        case "pow":
            return _exact_power(a, b)
        case "root" if b.denominator == 1 and 1 <= b <= 64:
            return _exact_root(a, int(b))
        case "binom" if a.denominator == b.denominator == 1 and a >= 0:
            if a > MAX_FACTORIAL:
                raise TooLarge("factorial")
            return Fraction(comb(int(a), int(b))) if b >= 0 else Fraction(0)
    raise NotInField


def folded(node: Node) -> Node:
    """The tree as one number, where it is one; a decimal keeps its places.

    Raises:
        TooLarge: a number on the way is larger than the limits.
    """
    if isinstance(node, Num):
        return node
    if isinstance(node, Op) and node.name == "neg":
        inner = folded(node.args[0])
        return Num(-inner.value, inner.places, inner.continues) if isinstance(inner, Num) else node
    try:
        return Num(exact(node))
    except (NotInField, Undefined):
        return node


def _bounded(value: Fraction) -> Fraction:
    if value.numerator.bit_length() + value.denominator.bit_length() > MAX_BITS:
        raise TooLarge("digits")
    return value


def _exact_unary(name: str, a: Fraction) -> Fraction:
    match name:
        case "neg":
            return -a
        case "abs":
            return abs(a)
        case "floor":
            return Fraction(a.numerator // a.denominator)
        case "ceil":
            return Fraction(-(-a.numerator // a.denominator))
        case "fact" if a.denominator == 1 and a >= 0:
            if a > MAX_FACTORIAL:
                raise TooLarge("factorial")
            return Fraction(factorial(int(a)))
    raise NotInField


def _exact_power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        if exponent.denominator > 64 or base < 0:
            raise NotInField  # the principal value is not real
        root = _exact_root(base, exponent.denominator)
        return _exact_power(root, Fraction(exponent.numerator))
    if base in (0, 1, -1):
        if not base and exponent <= 0:
            raise Undefined
        return base if exponent % 2 else abs(base)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) * (bits - 1) > MAX_BITS:
        raise TooLarge("power")
    return _bounded(base ** int(exponent))


def _exact_root(a: Fraction, index: int) -> Fraction:
    """The real root of a perfect power."""
    if a < 0:
        if index % 2 == 0:
            raise NotInField
        return -_exact_root(-a, index)
    top, bottom = _integer_root(a.numerator, index), _integer_root(a.denominator, index)
    if top**index != a.numerator or bottom**index != a.denominator:
        raise NotInField
    return Fraction(top, bottom)


def _integer_root(n: int, index: int) -> int:
    """Largest r with r ** index <= n, by Newton's method."""
    if n < 2 or index == 1:
        return n
    if index == 2:
        return isqrt(n)
    root = 1 << -(-n.bit_length() // index)
    while True:
        better = ((index - 1) * root + n // root ** (index - 1)) // index
        if better >= root:
            return root
        root = better


def residue(node: Node, point: int) -> int:
    """Value modulo `PRIME` of a rational function over the Gaussian rationals, at a fixed point.

    Two of them that agree at such points are equal: they would agree by accident with a chance of
    about their degree in 2^127 (Schwartz-Zippel). `π` and `e` are symbols here, which is right as
    long as nothing but rational functions is made of them.

    Args:
        node: the tree.
        point: number of the point; the same in every process.

    Raises:
        NotInField: it is not a rational function.
        Undefined: it has a pole at the point.
        TooLarge: an exponent or a constant is larger than the limits.
    """
    if isinstance(node, Num):
        return node.value.numerator * _inverse(node.value.denominator) % PRIME
    if isinstance(node, Sym):
        return _symbol_residue(node.name, point)
    match node.name:
        case "add":
            return (residue(node.args[0], point) + residue(node.args[1], point)) % PRIME
        case "sub":
            return (residue(node.args[0], point) - residue(node.args[1], point)) % PRIME
        case "mul":
            return residue(node.args[0], point) * residue(node.args[1], point) % PRIME
        case "div":
            return residue(node.args[0], point) * _inverse(residue(node.args[1], point)) % PRIME
        case "neg":
            return -residue(node.args[0], point) % PRIME
        case "pow":
            exponent = exact(node.args[1])
            if exponent.denominator != 1:
                raise NotInField
            base = residue(node.args[0], point)
            return pow(base if exponent >= 0 else _inverse(base), abs(int(exponent)), PRIME)
    constant = exact(node)  # 5!, |-3|, \sqrt{4}
    return constant.numerator * _inverse(constant.denominator) % PRIME


def _symbol_residue(name: str, point: int) -> int:
    if name == "∞":
        raise NotInField
    return _square_root_of_minus_one() if name == "i" else coordinate(name, point) % PRIME


def coordinate(name: str, point: int) -> int:
    """Coordinate of a symbol at a numbered point: a hash in [0, 2^128)."""
    return int.from_bytes(hashlib.blake2b(f"{name}/{point}".encode(), digest_size=16).digest())


def _inverse(n: int) -> int:
    if n % PRIME == 0:
        raise Undefined
    return pow(n, -1, PRIME)


@cache
def _square_root_of_minus_one() -> int:
    roots = (pow(n, (PRIME - 1) // 4, PRIME) for n in range(2, 100))
    return next(root for root in roots if root * root % PRIME == PRIME - 1)

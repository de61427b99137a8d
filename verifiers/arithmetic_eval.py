"""Exact value of an arithmetic expression, by recursive descent over tokens.

Nothing is approximated: a root that is not rational has no value here. Every size is bounded before
it is computed (depth, number of tokens, bits of a result), so hostile text costs no more than a
refusal. Some notations have two readings (`2 1/2` is a mixed number or a product, `6/1/2`, `-2^2`);
the evaluator takes one at a time and notes which of them it met.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, isqrt

from stepmill.verifiers.arithmetic_tokens import (
    CLOSE,
    FACTORIAL,
    FRACTION,
    NAME,
    NUMBER,
    OPEN,
    OPERATOR,
    ROOT,
    Token,
    Value,
    simple,
)

MAX_BITS = 4000
"""Largest numerator or denominator of any intermediate result."""
MAX_DEPTH = 40
"""Deepest nesting of brackets, signs and powers."""
MAX_TOKENS = 400
"""Longest expression."""
_MAX_FACTORIAL = 300

MIXED = "mixed-number"  # 2 1/2: the sum, or the product
DIVISION = "division-order"  # a/b/c, a/b*c: from the left, or a over all that follows
SIGNED_POWER = "signed-power"  # -2^2: -(2^2), or (-2)^2
TOWER = "power-order"  # 2^3^2: from the right, or from the left
LOOSE = "loose-product"  # 3 (4): a product, or a number and a remark
PERCENT = "percent"  # 20%: 1/5, or twenty of something


class Unread(Exception):
    """Raised when tokens have no exact value; the argument is the reason."""


@dataclass(frozen=True, slots=True)
class Result:
    """A value and the ambiguous notations met on the way to it."""

    value: Value
    notations: frozenset[str]


_NO_NAMES: Mapping[str, Value] = {}
_PLAIN: frozenset[str] = frozenset()


def evaluate(
    tokens: Sequence[Token],
    names: Mapping[str, Value] = _NO_NAMES,
    other: frozenset[str] = _PLAIN,
) -> Result:
    """The exact value of the whole of `tokens`.

    Args:
        tokens: numbers, operators, brackets, fractions, roots, factorials and names.
        names: values of names; a name without one is `Unread`.
        other: notations to take in their second reading.

    Raises:
        Unread: when the tokens are no expression, have no rational value, or are too large.
    """
    if len(tokens) == 1 and (lone := tokens[0]).value is not None and not lone.percent:
        return Result(lone.value, _PLAIN)  # half of all sides
    if len(tokens) > MAX_TOKENS:
        raise Unread("too-large")
    parser = _Parser(tokens, names, other)
    value = parser.sum(0)
    if parser.at < len(tokens):
        raise Unread("not-an-expression")
    return Result(value, frozenset(parser.met) if parser.met else _PLAIN)


class _Parser:
    __slots__ = ("at", "met", "n", "names", "other", "tokens")

    def __init__(
        self, tokens: Sequence[Token], names: Mapping[str, Value], other: frozenset[str]
    ) -> None:
        self.tokens = tokens
        self.n = len(tokens)
        self.names = names
        self.other = other
        self.at = 0
        self.met: set[str] = set()

    def operator(self) -> str:
        """The operator at the present place, or an empty string."""
        if self.at < self.n:
            token = self.tokens[self.at]
            if token.kind == OPERATOR:
                return token.text
        return ""

    def sum(self, depth: int) -> Value:
        value = self.product(depth)
        while (sign := self.operator()) == "+" or sign == "-":
            self.at += 1
            term = self.product(depth)
            value = bounded(value + term if sign == "+" else value - term)
        return value

    def product(self, depth: int) -> Value:
        value = self.power(depth)
        while self.at < self.n:
            token = self.tokens[self.at]
            if token.kind == OPERATOR:
                if token.text == "*":
                    self.at += 1
                    value = bounded(value * self.power(depth))
                elif token.text == "/":
                    self.at += 1
                    if DIVISION in self.other:
                        return divide(value, self.product(depth + 1))
                    value = divide(value, self.power(depth))
                    if self.operator() in ("*", "/") or self.juxtaposed():
                        self.met.add(DIVISION)
                else:
                    break
            elif self.juxtaposed():
                if not token.glued:
                    self.met.add(LOOSE)
                value = bounded(value * self.power(depth))
            else:
                break
        return value

    def juxtaposed(self) -> bool:
        """Whether a factor follows without an operator: `3(4)`, `2x`, `(1)(2)`."""
        if self.at >= self.n:
            return False
        token, before = self.tokens[self.at], self.tokens[self.at - 1]
        if token.kind == OPEN or token.kind == ROOT or token.kind == FRACTION:
            return before.kind == NUMBER or before.kind == CLOSE
        return token.kind == NAME and token.glued and before.kind in (NUMBER, CLOSE)

    def power(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise Unread("too-large")
        sign = self.operator()
        if sign == "+":
            if self.at and self.tokens[self.at - 1].kind == OPERATOR:
                raise Unread("not-an-expression")
            self.at += 1
            return self.power(depth + 1)
        if sign == "-":
            self.at += 1
            if SIGNED_POWER in self.other and self.operator() != "-":
                return self.exponents(-self.postfix(depth + 1), depth)
            start = self.at
            value = -self.power(depth + 1)
            if self.has_power(start):
                self.met.add(SIGNED_POWER)
            return value
        return self.exponents(self.postfix(depth), depth)

    def exponents(self, base: Value, depth: int) -> Value:
        while self.operator() == "^":
            self.at += 1
            if TOWER in self.other:
                negative = self.operator() == "-"
                self.at += negative
                exponent = self.postfix(depth + 1)
                base = raised(base, -exponent if negative else exponent)
            else:
                start = self.at
                base = raised(base, self.power(depth + 1))
                if self.has_power(start):
                    self.met.add(TOWER)
        return base

    def has_power(self, start: int) -> bool:
        """Whether what was read from `start` is a power outside brackets."""
        depth = 0
        for token in self.tokens[start : self.at]:
            if token.kind == OPEN:
                depth += 1
            elif token.kind == CLOSE:
                depth -= 1
            elif depth == 0 and token.kind == OPERATOR and token.text == "^":
                return True
        return False

    def postfix(self, depth: int) -> Value:
        value = self.atom(depth)
        if self.at < self.n and self.tokens[self.at].kind == FACTORIAL:
            self.at += 1
            doubled = self.at < self.n and self.tokens[self.at].kind == FACTORIAL
            if doubled or not isinstance(value, int) or value < 0:  # n!! is not (n!)!
                raise Unread("not-an-expression")
            if value > _MAX_FACTORIAL:
                raise Unread("too-large")
            return factorial(value)
        return value

    def atom(self, depth: int) -> Value:
        if self.at >= self.n:
            raise Unread("not-an-expression")
        token = self.tokens[self.at]
        kind = token.kind
        self.at += 1
        if kind == NUMBER:
            return self.number(token, depth)
        if kind == OPEN:
            return self.closed(depth)
        if kind == NAME:
            value = self.names.get(token.text)
            if value is None:
                raise Unread("unknown-name")
            return value
        if kind == FRACTION:
            return divide(self.group(depth), self.group(depth))
        if kind == ROOT:
            return root(self.group(depth))
        raise Unread("not-an-expression")

    def closed(self, depth: int) -> Value:
        value = self.sum(depth + 1)
        if self.at >= self.n or self.tokens[self.at].kind != CLOSE:
            raise Unread("not-an-expression")
        self.at += 1
        return value

    def group(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise Unread("too-large")
        if self.at < self.n:
            token = self.tokens[self.at]
            self.at += 1
            if token.kind == OPEN:
                return self.closed(depth)
            if token.kind == NUMBER and token.value is not None and not token.percent:
                return token.value
        raise Unread("not-an-expression")

    def number(self, token: Token, depth: int) -> Value:
        value = token.value
        if value is None:
            raise Unread("too-large")
        if token.percent:
            self.met.add(PERCENT)
            return value if PERCENT in self.other else simple(Fraction(value) / 100)
        if isinstance(value, int) and self.at < self.n and token.text.isdigit():
            part = self.fraction_after(depth)
            if part is not None:
                self.met.add(MIXED)
                return value * part if MIXED in self.other else value + part
        return value

    def fraction_after(self, depth: int) -> Value | None:
        r"""The proper fraction that makes the whole number before it mixed: `1/2`, `\frac12`."""
        tokens, at = self.tokens, self.at
        if tokens[at].kind == FRACTION:
            part = self.atom(depth + 1)
            if not 0 < part < 1:
                self.at = at
                return None
            return part
        if at + 2 < self.n and tokens[at].kind == NUMBER and not tokens[at].glued:
            over, below = tokens[at + 1], tokens[at + 2]
            above = tokens[at].value
            if over.kind != OPERATOR or over.text != "/" or below.kind != NUMBER:
                return None
            if isinstance(above, int) and isinstance(below.value, int) and 0 < above < below.value:
                self.at = at + 3
                return simple(Fraction(above, below.value))
        return None


def bounded(value: Value) -> Value:
    """The value in its simplest type; too many bits are `Unread`."""
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise Unread("too-large")
        return value
    if value.numerator.bit_length() > MAX_BITS or value.denominator.bit_length() > MAX_BITS:
        raise Unread("too-large")
    return value.numerator if value.denominator == 1 else value


def divide(above: Value, below: Value) -> Value:
    """Exact quotient."""
    if below == 0:
        raise Unread("division-by-zero")
    return bounded(Fraction(above) / below)


def raised(base: Value, exponent: Value) -> Value:
    """Exact power; the size is known before it is computed. Roots must be rational."""
    if not isinstance(exponent, int):
        if exponent.denominator == 2:
            return raised(root(base), exponent.numerator)
        raise Unread("irrational")
    if base == 0:
        if exponent <= 0:
            raise Unread("undefined")
        return 0
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if size > 1 and size * abs(exponent) > MAX_BITS:
        raise Unread("too-large")
    if size <= 1:  # 1 or -1
        return -1 if base < 0 and exponent % 2 else 1
    return simple(Fraction(base) ** exponent) if exponent < 0 else bounded(base**exponent)


def root(value: Value) -> Value:
    """Exact square root of a square."""
    above, below = value.numerator, value.denominator
    if above < 0:
        raise Unread("irrational")
    top, bottom = isqrt(above), isqrt(below)
    if top * top != above or bottom * bottom != below:
        raise Unread("irrational")
    return simple(Fraction(top, bottom))

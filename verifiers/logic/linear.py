"""Linear constraints over named numbers: `2x + 3*pears <= 12 and x != 3`, `1 <= x < y`.

Exact rationals throughout. A product of two unknowns, a division by one, or a number of many digits
is refused. `and`, `or` and `not` join constraints; `|a - b| = 1` is not linear and is written
`next_to(a, b)` (puzzles.py).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from stepmill.verifiers.logic.reading import MAX_DIGITS, Cursor, ParseError, scan
from stepmill.verifiers.logic.syntax import (
    Compare,
    Formula,
    Linear,
    Not,
    Or,
    conjunction,
)

_TOKENS = re.compile(
    r"""(?P<number> \d+ (?: \.\d+ )? | \.\d+ )
      | (?P<sign> <= | >= | == | != | [<>=≤≥≠] )
      | (?P<and> and\b | ∧ | && )
      | (?P<or> or\b | ∨ | \|\| )
      | (?P<not> not\b | ¬ )
      | (?P<name> [^\W\d]\w* )
      | (?P<plus> \+ )
      | (?P<minus> [-−] )
      | (?P<times> [*×·] )
      | (?P<over> [/÷] )
      | (?P<open> \( )
      | (?P<close> \) )
      | (?P<list> \[ )
      | (?P<end_list> \] )
      | (?P<comma> , )
    """,
    re.VERBOSE,
)
_SIGNS = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!="}
_ONE = Linear((), Fraction(1))

Relation = Callable[[Sequence[Linear]], Formula]
"""What a named relation says of its arguments; it raises ParseError for a wrong number of them."""


def parse_linear(text: str, relations: Mapping[str, Relation] | None = None) -> Formula:
    """Read constraints joined by `and`, `or` and `not`; `and` binds tighter.

    Args:
        text: the constraints.
        relations: names that may be called like functions, such as `distinct(a, b, c)`.

    Raises:
        ParseError: the text is not a constraint, or not a linear one.
    """
    return _ConstraintReader(text, relations or {}).read()


class _ConstraintReader:
    """Recursive descent over the tokens of one constraint."""

    def __init__(self, text: str, relations: Mapping[str, Relation]) -> None:
        self._tokens = scan(text, _TOKENS)
        self._cursor = Cursor(self._tokens)
        self._relations = relations

    def read(self) -> Formula:
        formula = self._any()
        self._cursor.finish()
        return formula

    def _any(self) -> Formula:
        parts = [self._all()]
        while self._cursor.take("or"):
            parts.append(self._all())
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def _all(self) -> Formula:
        parts = [self._one()]
        while self._cursor.take("and"):
            parts.append(self._one())
        return conjunction(parts)

    def _one(self) -> Formula:
        self._cursor.deeper()
        try:
            if self._cursor.take("not"):
                return Not(self._one())
            if self._cursor.peek() == "open" and self._opens_a_constraint():
                self._cursor.expect("open")
                inner = self._any()
                self._cursor.expect("close")
                return inner
            if self._cursor.peek() == "name" and self._cursor.peek(1) == "open":
                return self._relation()
            return self._chain()
        finally:
            self._cursor.shallower()

    def _opens_a_constraint(self) -> bool:
        """Whether the bracket that comes holds a constraint, and not a sum."""
        depth = 0
        for ahead in range(len(self._tokens)):
            kind = self._cursor.peek(ahead)
            depth += (kind == "open") - (kind == "close")
            if kind in ("sign", "and", "or", "not"):
                return True
            if depth == 0 or kind == "end":
                return False
        return False

    def _relation(self) -> Formula:
        name = self._cursor.expect("name").text
        if name not in self._relations:
            known = ", ".join(sorted(self._relations)) or "none"
            raise ParseError(f"relation {name!r} is not known; known: {known}")
        self._cursor.expect("open")
        in_list = self._cursor.take("list")
        args = [self._sum()]
        while self._cursor.take("comma"):
            args.append(self._sum())
        if in_list:
            self._cursor.expect("end_list")
        self._cursor.expect("close")
        return self._relations[name](args)

    def _chain(self) -> Formula:
        left = self._sum()
        links: list[Formula] = []
        while not links or self._cursor.peek() == "sign":
            sign = self._cursor.expect("sign").text
            right = self._sum()
            links.append(Compare(_SIGNS.get(sign, sign), left, right))
            left = right
        return conjunction(links)

    def _sum(self) -> Linear:
        total = self._product()
        while sign := self._cursor.take("plus", "minus"):
            total = total.plus(self._product(), Fraction(1 if sign.kind == "plus" else -1))
        return total

    def _product(self) -> Linear:
        product = self._factor()
        while True:
            if self._cursor.take("times"):
                product = _times(product, self._factor())
            elif self._cursor.take("over"):
                product = _times(product, _inverse(self._factor()))
            elif not product.coefficients and self._cursor.peek() in (
                "name",
                "open",
            ):  # 2x, 3(x + y)
                product = _times(product, self._factor())
            else:  # f(2) is no product
                return product

    def _factor(self) -> Linear:
        self._cursor.deeper()
        try:
            if self._cursor.take("minus"):
                return self._factor().times(Fraction(-1))
            if self._cursor.take("open"):
                inner = self._sum()
                self._cursor.expect("close")
                return inner
            token = self._cursor.expect("number", "name")
            if token.kind == "name":
                return Linear(((token.text, Fraction(1)),), Fraction(0))
            return _ONE.times(_limited(Fraction(_exact(token.text))))
        finally:
            self._cursor.shallower()


def _exact(digits: str) -> str:
    if len(digits) > MAX_DIGITS:
        raise ParseError(f"a number of {len(digits)} digits; at most {MAX_DIGITS} are read")
    return digits


def _limited(value: Fraction) -> Fraction:
    """The value, unless products have made it long."""
    bits = 4 * MAX_DIGITS
    if value.numerator.bit_length() > bits or value.denominator.bit_length() > bits:
        raise ParseError(f"a coefficient of more than {MAX_DIGITS} digits")
    return value


def _times(left: Linear, right: Linear) -> Linear:
    if left.coefficients and right.coefficients:
        raise ParseError("a product of two unknowns is not linear")
    number, factor = (left, right.constant) if left.coefficients else (right, left.constant)
    product = number.times(factor)
    for _, coefficient in product.coefficients:
        _limited(coefficient)
    _limited(product.constant)
    return product


def _inverse(number: Linear) -> Linear:
    if number.coefficients:
        raise ParseError("a division by an unknown is not linear")
    if not number.constant:
        raise ParseError("a division by zero")
    return _ONE.times(1 / number.constant)

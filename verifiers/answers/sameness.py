"""Whether two expressions are the same number or the same function.

Exact where they are rational; otherwise by their digits, at two precisions, so that a zero is told
from a small number. Every answer is True, False or None, which is: not decided here.
"""

from fractions import Fraction

from stepmill.verifiers.answers.digits import evaluate
from stepmill.verifiers.answers.evaluate import NotInField, Undefined, exact, residue
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.answers.trees import Node, Num, Op, Sym, symbols

_LOW, _HIGH = 40, 80
"""Precisions in digits."""
_POINTS = (0, 2, 4, 1, 3)
"""First those at which all symbols are positive, then the others (digits.py)."""


def same_value(a: Node, b: Node, policy: AnswerPolicy) -> bool | None:
    """Whether two expressions are equal, as numbers or as functions of their symbols.

    Raises:
        TooLarge: a number on the way is beyond the limits.
    """
    if isinstance(a, Num) and isinstance(b, Num):
        return a.value == b.value or _nearly(a, b, policy)
    if a == b:
        return True
    infinite = _infinity(a), _infinity(b)
    if any(infinite):
        return infinite[0] == infinite[1]
    try:
        variables = symbols(a) | symbols(b)
        if not variables:
            found = _same_constant(a, b)
            if found is not False:
                return found
            return _nearly(a, b, policy)
        return _same_function(a, b)
    except Undefined:
        return None


def _infinity(node: Node) -> int:
    """1 or -1 for an infinity, 0 for anything else."""
    if isinstance(node, Op) and node.name == "neg":
        return -_infinity(node.args[0])
    return int(node == Sym("∞"))


def _same_constant(a: Node, b: Node) -> bool | None:
    try:
        return exact(a) == exact(b)
    except NotInField:
        pass
    natural = _same_digits(a, b, None)
    return natural if natural or not _has_log(a, b) else _same_digits(a, b, 10)


def _has_log(*nodes: Node) -> bool:
    """Whether a logarithm without a base is somewhere in it."""
    return any(isinstance(n, Op) and (n.name == "log" or _has_log(*n.args)) for n in nodes)


def _same_digits(a: Node, b: Node, log_base: int | None) -> bool | None:
    """Two closed forms: equal when they agree to 60 digits, different when not to 20."""
    try:
        low = evaluate(a, _LOW, 0, log_base), evaluate(b, _LOW, 0, log_base)
        high = evaluate(a, _HIGH, 0, log_base), evaluate(b, _HIGH, 0, log_base)
    except NotInField:
        return None
    scale = max(abs(high[0]), abs(high[1]))
    if (scale < 1e-60 and scale * 10**20 < max(abs(low[0]), abs(low[1]))) or not scale:
        return True  # both are rounding errors of zero: they shrink with the precision
    apart = abs(high[0] - high[1]) / scale
    if apart < 1e-60:
        return True
    return False if apart > 1e-20 else None


def _same_function(a: Node, b: Node) -> bool | None:
    try:
        return all(residue(a, point) == residue(b, point) for point in range(2))
    except (NotInField, Undefined):
        pass
    if _has_log(a, b) and _agreement(a, b, 10):
        return True
    return _agreement(a, b, None)


def _agreement(a: Node, b: Node, log_base: int | None) -> bool | None:
    r"""Equal at all points, or different at a point where everything is positive.

    A difference elsewhere may come from a branch of a root (`\sqrt{x^2}` and `x`): not known.
    """
    met = 0
    for point in _POINTS:
        try:
            left, right = (evaluate(n, _LOW, point, log_base) for n in (a, b))
        except Undefined:
            continue
        except NotInField:
            return None
        if bool(left.imag) != bool(right.imag):
            continue  # outside of the domain of one of them: \ln xy and \ln x + \ln y
        met += 1
        scale = max(abs(left), abs(right))
        if scale < 1e-30 or abs(left - right) < scale * 1e-25:
            continue
        return False if point % 2 == 0 else None
    return True if met >= 3 else None


def _nearly(a: Node, b: Node, policy: AnswerPolicy) -> bool | None:
    """Equality that rests on the policy: a rounded decimal, a tolerance.

    None: the decimal ends in dots and agrees as far as it goes.
    """
    decimals = _decimal(a), _decimal(b)
    unsure = False
    for decimal, other, other_decimal in (
        (decimals[0], b, decimals[1]),
        (decimals[1], a, decimals[0]),
    ):
        if decimal is None or other_decimal is not None:
            continue
        distance = _distance(decimal.value, other)
        if distance is None or distance >= Fraction(1, 10 ** (decimal.places or 0)):
            continue
        digits = len(str(abs(int(decimal.value * 10 ** (decimal.places or 0)))))
        if policy.rounded_digits and digits >= policy.rounded_digits:
            return True
        unsure = decimal.continues
    if policy.relative_tolerance and _within(a, b, policy.relative_tolerance):
        return True
    return None if unsure else False


def _decimal(node: Node) -> Num | None:
    """The node, when it is a literal with decimal places."""
    return node if isinstance(node, Num) and node.places is not None else None


def _distance(value: Fraction, node: Node) -> Fraction | None:
    """|value - node| where node is a real constant; None where it is not."""
    try:
        return abs(value - exact(node))
    except NotInField:
        pass
    try:
        found = evaluate(Op("sub", (Num(value), node)), _LOW)
    except NotInField:
        return None
    return Fraction(str(abs(found.real))) + Fraction(str(abs(found.imag)))


def _within(a: Node, b: Node, tolerance: float) -> bool:
    try:
        left, right = evaluate(a, _LOW), evaluate(b, _LOW)
    except NotInField:
        return False
    return bool(abs(left - right) <= tolerance * max(abs(left), abs(right)))


def sign_of_difference(a: Node, b: Node) -> int | None:
    """Sign of a - b for real constants, infinities included; None when it is not known."""
    infinite = _infinity(a) - _infinity(b)
    if infinite or _infinity(a):
        return (infinite > 0) - (infinite < 0)
    if symbols(a) or symbols(b):
        return None
    try:
        difference = evaluate(Op("sub", (a, b)), _LOW)
    except (NotInField, Undefined):
        return None
    if difference.imag:
        return None
    return 0 if abs(difference) < 1e-30 else 1 if difference > 0 else -1

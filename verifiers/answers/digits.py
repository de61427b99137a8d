"""Values of expression trees to many digits, for what is not rational.

Closed forms of school and competition mathematics that agree to 60 digits at several points are
equal; this module finds the digits and says when it cannot. It decides nothing.
"""

import threading
from typing import Any

from stepmill.verifiers.answers.evaluate import NotInField, Undefined, coordinate, exact
from stepmill.verifiers.answers.limits import MAX_BITS, TooLarge
from stepmill.verifiers.answers.trees import Node, Num, Op, Sym

_LARGEST_ARGUMENT = 10**20
_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arccot": "acot"}
_local = threading.local()


def context(digits: int) -> Any:  # noqa: ANN401 - mpmath has no types
    """Mpmath at a fixed precision; one per thread, since a context is not safe to share."""
    contexts: dict[int, Any] = _local.__dict__.setdefault("contexts", {})
    if digits not in contexts:
        from mpmath.ctx_mp import MPContext  # 40 ms, and most answers never need it

        contexts[digits] = MPContext()
        contexts[digits].dps = digits
    return contexts[digits]


def evaluate(node: Node, digits: int, point: int = 0, log_base: int | None = 10) -> Any:  # noqa: ANN401
    """Complex value of a tree, an mpmath number.

    Args:
        node: the tree.
        digits: working precision.
        point: number of the point at which symbols are evaluated. Their sizes are in 0.3 to 2.8;
            at even points all are positive, at point 1 all are negative, at other odd ones some.
        log_base: what `log` without a base means; None is the natural logarithm.

    Raises:
        NotInField: there is something in it that has no digits.
        Undefined: a division by zero and the like.
        TooLarge: it is beyond the limits.
    """
    return _Evaluation(context(digits), point, log_base).value(node)


class _Evaluation:
    def __init__(self, mp: Any, point: int, log_base: int | None) -> None:  # noqa: ANN401
        self.mp = mp
        self.point = point
        self.log_base = log_base

    def value(self, node: Node) -> Any:  # noqa: ANN401
        if isinstance(node, Num):
            return self.mp.mpf(node.value.numerator) / node.value.denominator
        if isinstance(node, Sym):
            return self.symbol(node.name)
        if node.name in ("fact", "binom", "floor", "ceil"):
            constant = exact(node)
            return self.mp.mpf(constant.numerator) / constant.denominator
        args = [self.value(a) for a in node.args]
        try:
            found = self.apply(node, args)
        except (ZeroDivisionError, ValueError, OverflowError):
            raise Undefined from None
        if not self.mp.isfinite(found):
            raise Undefined
        return found

    def symbol(self, name: str) -> Any:  # noqa: ANN401
        match name:
            case "π":
                return +self.mp.pi
            case "e":
                return +self.mp.e
            case "i":
                return self.mp.mpc(0, 1)
            case "∞":
                raise NotInField
        drawn = coordinate(name, self.point)
        size = self.mp.mpf(drawn % 10**9) / 4 / 10**8 + self.mp.mpf("0.3")
        negative = self.point == 1 or (self.point % 2 == 1 and drawn >> 127)
        return -size if negative else size

    def apply(self, op: Op, args: list[Any]) -> Any:  # noqa: ANN401
        mp, a = self.mp, args[0]
        match op.name:
            case "add":
                return a + args[1]
            case "sub":
                return a - args[1]
            case "mul":
                return a * args[1]
            case "div":
                return a / args[1]
            case "neg":
                return -a
            case "abs":
                return abs(a)
            case "deg":
                return a * mp.pi / 180
            case "pow":
                return self.power(a, args[1])
            case "root":
                if mp.im(a) == 0 and mp.re(a) < 0 and args[1] in (3, 5, 7):
                    return -self.power(-a, 1 / args[1])  # the real root, as schools write it
                return self.power(a, 1 / args[1])
            case "log":
                return mp.log(a) / (mp.log(self.log_base) if self.log_base else 1)
            case "logb":
                return mp.log(a) / mp.log(args[1])
            case "ln":
                return mp.log(a)
            case "exp":
                return self.power(+mp.e, a)
        if abs(a) > _LARGEST_ARGUMENT:
            raise TooLarge("argument")
        return getattr(mp, _NAMES.get(op.name, op.name))(a)

    def power(self, base: Any, exponent: Any) -> Any:  # noqa: ANN401
        if base == 0:
            if self.mp.re(exponent) <= 0:
                raise Undefined
            return base
        if abs(exponent) * (abs(self.mp.log(base)) + 1) > MAX_BITS:
            raise TooLarge("power")
        return base**exponent

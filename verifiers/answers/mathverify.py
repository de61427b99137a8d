r"""Computer algebra for what no exact form decides: math-verify, in a process that can be killed.

`build` is the entry of a worker pool (pool.py): time-outs of math-verify itself are off, since
they need the main thread and turn a time-out into "different". Each answer is parsed whole or not
at all. `different` needs a witness, a point or a solution set that tells the two apart, because
the library reports its own failures as `False` too; without one the result is open.

Known to be needed with math-verify 0.9.0: it lowers the case of symbols, reads words as products,
compares decimals to six places, takes `i` for a real symbol, and is not symmetric for
inequalities. (Its issues 10, 14, 25, 60.)
"""

import logging
import re
from collections.abc import Callable
from typing import Any

from stepmill.verifiers.answers.clean import to_latex
from stepmill.verifiers.answers.comparison import Comparer
from stepmill.verifiers.answers.decisions import Decision
from stepmill.verifiers.answers.limits import TooLarge, too_large_for_algebra
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.answers.regions import Region, read_region

FORM = "math-verify"

_COMMAND = re.compile(r"\\(?:begin|end) ?\{\w+\}|\\[A-Za-z]+")
_UNREADABLE = re.compile(r"[A-Za-z]{3,}|\d ?_|'|[…?!]{2,}|⇒|→(?!\s*[\d∞-])")
_POINTS = (("0.7310", "0.3137"), ("1.9371", "0.2113"), ("2.2713", "0.6171"))
"""Value of the first symbol, and what is added for each further one."""
_NEGATIVE = ("-0.7310", "-0.3137")
"""Another, where equal functions agree too, and `|x|` and `x` do not."""
_DIGITS = 40
_DIFFERENT, _EQUAL = 1e-9, 1e-30
"""Shares by which different expressions differ at least, and equal ones at most."""


def build(options: dict[str, Any]) -> Callable[[dict[str, str]], dict[str, Any]]:
    """What a worker runs: compares the canonical texts `gold` and `prediction` of a job.

    Args:
        options: `policy`, the settings of an `AnswerPolicy`.
    """
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    logging.getLogger("latex2sympy2_extended").setLevel(logging.CRITICAL)
    parse_formula(r"\frac{1}{2}")  # imports and warms the parser, so that no job pays for it
    comparer = Comparer(AnswerPolicy.model_validate(options["policy"]), compare_formulas)

    def work(job: dict[str, str]) -> dict[str, Any]:
        try:
            found = comparer.compare(job["gold"], job["prediction"])
        except TooLarge:
            found = Decision(None, "", "too-large")
        return {"same": found.same, "form": found.form, "reason": found.reason}

    return work


def compare_formulas(a: str, b: str) -> Decision:
    """Compare two canonical texts; symmetric. It may take for ever: run it in a worker."""
    if too_large_for_algebra(a) or too_large_for_algebra(b):
        return Decision(None, "", "too-large")
    if not _readable(a, b):
        return Decision(None, "", "unparsed")
    left, right = _parse(a), _parse(b)
    if left is None or right is None:
        return Decision(None, "", "unparsed")
    same = _same(left, right)
    return Decision(same, FORM, "undecided" if same is None else "")


def _readable(a: str, b: str) -> bool:
    """Whether the parser would read all of both texts.

    It passes over derivatives (`f'`) and the indices of numbers, multiplies the letters of words,
    and lowers the case, so that `R` and `r` must not both occur.
    """
    plain = _COMMAND.sub(" ", f"{a} {b}")
    if _UNREADABLE.search(plain):
        return False
    letters = set(filter(str.isalpha, plain))
    return not any(c.islower() and c.upper() in letters for c in letters)


def _parse(text: str) -> Any:  # noqa: ANN401
    region = read_region(text)
    return parse_formula(text) if region is None else _region_as_set(region)


def _region_as_set(region: Region) -> Any:  # noqa: ANN401
    """The union of intervals, as a set of real numbers; None when an end is not parsed."""
    import sympy

    spans = []
    for span in region.spans:
        low, high = parse_formula(span.low), parse_formula(span.high)
        if not isinstance(low, sympy.Expr) or not isinstance(high, sympy.Expr):
            return None
        spans.append(sympy.Interval(low, high, not span.closed[0], not span.closed[1]))
    return sympy.Union(*spans)


def parse_formula(text: str) -> Any:  # noqa: ANN401 - sympy has no types
    """A sympy object made of the whole of a canonical text, or None."""
    from latex2sympy2_extended.math_normalization import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse

    normalization = NormalizationConfig(
        basic_latex=True,
        units=False,
        malformed_operators=True,
        nits=False,
        boxed="none",
        equations=False,
    )
    config = LatexExtractionConfig(boxed_match_priority=-1, normalization_config=normalization)
    latex = to_latex(text).replace("\n", " ")
    if "$" in latex:
        return None
    try:
        found = parse(
            f"${latex}$", [config], "no_fallback", "first_match", None, raise_on_error=True
        )
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, NotImplementedError):
        return None
    return _plain(found[0]) if found else None


def _plain(parsed: Any) -> Any:  # noqa: ANN401
    """With exact decimals, plain symbols, and `i` for the imaginary unit."""
    import sympy

    if not isinstance(parsed, sympy.Basic):
        return parsed
    swaps: dict[Any, Any] = {f: sympy.Rational(str(f)) for f in parsed.atoms(sympy.Float)}
    for symbol in parsed.free_symbols:
        name = getattr(symbol, "name", "")
        swaps[symbol] = sympy.I if name == "i" else sympy.Symbol(name)
    return parsed.xreplace(swaps)


def _same(a: Any, b: Any) -> bool | None:  # noqa: ANN401
    import sympy

    if isinstance(a, sympy.Expr) and isinstance(b, sympy.Expr):
        return _same_expression(a, b)
    sets = _as_real_set(a), _as_real_set(b)
    if sets[0] is not None and sets[1] is not None:
        return bool(sets[0] == sets[1]) or _different_sets(*sets)
    if isinstance(a, sympy.Eq) and isinstance(b, sympy.Eq):
        same = _same_solutions(a, b)
        if same is not None:
            return same
    return _verified(a, b) or None


def _verified(a: Any, b: Any) -> bool:  # noqa: ANN401
    """What math-verify says, asked both ways round."""
    from math_verify import verify

    return any(
        verify(x, y, allow_set_relation_comp=True, timeout_seconds=None)
        for x, y in ((a, b), (b, a))
    )


def _same_expression(a: Any, b: Any) -> bool | None:  # noqa: ANN401
    """By points first: they are cheap, and `simplify` may not end."""
    import sympy

    left, right = a.doit(), b.doit()
    if left == right:
        return True
    apart = [_distance(left, right, *point) for point in _POINTS]
    known = [d for d in apart if d is not None]
    if any(d > _DIFFERENT for d in known):
        return False
    known.append(_distance(left, right, *_NEGATIVE))
    if len(apart) + 1 == len(known) and all(d is not None and d < _EQUAL for d in known):
        return True
    return True if sympy.simplify(left - right) == 0 else None


def _distance(a: Any, b: Any, start: str, step: str) -> Any:  # noqa: ANN401
    """Difference at a point, as a share of the larger value; None where it gives no numbers."""
    import sympy

    names = sorted(a.free_symbols | b.free_symbols, key=str)
    at = {s: sympy.Rational(start) + i * sympy.Rational(step) for i, s in enumerate(names)}
    values = [sympy.N(x.subs(at), _DIGITS) for x in (a, b)]
    if not all(v.is_number and v.is_finite for v in values):
        return None
    scale = max(abs(v) for v in values)
    return abs(values[0] - values[1]) / scale if scale else scale


def _as_real_set(formula: Any) -> Any:  # noqa: ANN401
    """The real numbers that an inequality in one variable allows, or a set as it is."""
    import sympy

    if isinstance(formula, sympy.Set):
        return formula
    if not isinstance(formula, (sympy.core.relational.Relational, sympy.And, sympy.Or)):
        return None
    if isinstance(formula, sympy.Eq) or len(formula.free_symbols) != 1:
        return None
    symbol: Any = next(iter(formula.free_symbols))
    over_reals: Any = formula.xreplace({symbol: sympy.Symbol(symbol.name, real=True)})
    try:
        return over_reals.as_set()
    except NotImplementedError:
        return None


def _different_sets(a: Any, b: Any) -> bool | None:  # noqa: ANN401
    """False when a point is in one set only; None when that is not known."""
    import sympy

    difference = sympy.SymmetricDifference(a, b)
    return False if difference.is_empty is False else None


def _same_solutions(a: Any, b: Any) -> bool | None:  # noqa: ANN401
    """Whether two equations in one variable have the same finite solutions."""
    import sympy

    if a.free_symbols != b.free_symbols or len(a.free_symbols) != 1:
        return None
    symbol = next(iter(a.free_symbols))
    solved = [sympy.solveset(e, symbol, sympy.S.Complexes) for e in (a, b)]
    if not all(isinstance(s, sympy.FiniteSet) for s in solved):
        return None
    return bool(solved[0] == solved[1])

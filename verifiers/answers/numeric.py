"""Numbers within a tolerance, units converted."""

from fractions import Fraction

from stepmill.verifiers.answers.clean import clean
from stepmill.verifiers.answers.decisions import Decision
from stepmill.verifiers.answers.digits import evaluate
from stepmill.verifiers.answers.evaluate import NotInField, Undefined, exact
from stepmill.verifiers.answers.limits import MAX_CHARACTERS, TooLarge
from stepmill.verifiers.answers.quantities import Quantity
from stepmill.verifiers.answers.reading import read
from stepmill.verifiers.answers.relations import Labelled
from stepmill.verifiers.answers.trees import Node, symbols
from stepmill.verifiers.answers.units import same_unit

_DIGITS = 30


def close_numbers(reference: str, answer: str, relative: float, absolute: float) -> Decision:
    """Whether two numbers differ by at most `relative * |reference|` or `absolute`.

    A unit that is written on one side only is taken for the other's. What is no real number gives
    `unknown: not-a-number`.
    """
    if max(len(reference), len(answer)) > MAX_CHARACTERS:
        return Decision(None, "", "too-large")
    try:
        wanted, given = _read(reference), _read(answer)
        if wanted is None or given is None:
            return Decision(None, "", "not-a-number")
        units = same_unit(wanted.unit, given.unit, missing_ok=True)
        if not units:
            return Decision(units, "unit", "" if units is False else "units")
        target, value = _real(wanted.value), _real(given.value)
    except (TooLarge, NotInField, Undefined) as error:
        return Decision(None, "", "too-large" if isinstance(error, TooLarge) else "not-a-number")
    if wanted.unit and given.unit:
        value = value * given.unit.factor / wanted.unit.factor
    allowed = max(abs(target) * Fraction(relative), Fraction(absolute))
    return Decision(abs(target - value) <= allowed, "number within tolerance")


def _read(text: str) -> Quantity | None:
    cleaned = clean(text)
    if not cleaned:
        return None
    for form in read(cleaned, "mdy"):
        if isinstance(form, Labelled):
            return _read(form.value)
        if isinstance(form, Quantity):
            return form
    return None


def _real(node: Node) -> Fraction:
    """A real number to many digits."""
    if symbols(node):
        raise NotInField
    try:
        return exact(node)
    except NotInField:
        found = evaluate(node, _DIGITS)
    if abs(found.imag) > abs(found.real) * 1e-20:
        raise NotInField
    return Fraction(str(found.real))

"""Does a claim follow from the premises it cites?

| premises and not claim | premises | premises and claim | verdict |
| --- | --- | --- | --- |
| no model | a model | | correct, with the premises used (the core) |
| no model | no model | | unknown, `vacuous-premises` |
| a model | | no model | incorrect, `refuted`, with the counter-model |
| a model | | a model | incorrect, `not-entailed`, with the counter-model |

The map is FoVer's (Kamoi et al., 2025, https://github.com/psunlpgroup/FoVer) with three values
instead of two: a solver that gives up says nothing, and premises that contradict each other prove
nothing. A counter-model counts only after it was checked without Z3 (structures.py).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from stepmill.records import Verdict
from stepmill.verifiers.logic.smtlib import SmtTerm
from stepmill.verifiers.logic.solver import GaveUp, IncrementalSolver
from stepmill.verifiers.logic.structures import Structure, TooMuchWork, holds
from stepmill.verifiers.logic.syntax import Formula, Not
from stepmill.verifiers.logic.translation import Translator

Statement = Formula | SmtTerm

_MODELS_KEPT = 4
"""Per set of premises; a wrong claim is often false in a model that an earlier one was false in."""
_MODEL_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Ruling:
    """The verdict on one claim."""

    verdict: Verdict
    reason: str
    """`entailed`, `refuted`, `not-entailed`, `vacuous-premises`, `time-out`,
    `counter-model-unchecked`, or `z3:` and Z3's own words."""
    core: tuple[str, ...] = ()
    """Labels of premises that are enough, when the claim follows; not always the fewest."""
    counter_model: Structure | None = None
    """Where all cited premises are true and the claim is false."""
    model_text: str = ""
    """The counter-model in Z3's words, where the claim or a premise is SMT-LIB."""


class Entailment:
    """The premises of one problem, for all of its steps.

    Args:
        translator: of the problem.
        solver: new, for this problem.
    """

    def __init__(self, translator: Translator, solver: IncrementalSolver) -> None:
        self._translator = translator
        self._solver = solver
        self._premises: dict[str, tuple[Statement, ...]] = {}
        self._consistent: dict[tuple[str, ...], bool] = {}
        self._models: dict[tuple[str, ...], list[Structure]] = {}

    def add(self, label: str, *premises: Statement) -> None:
        """Make premises known under a new label.

        Raises:
            ParseError: one cannot be translated; nothing is known under the label then.
        """
        self._solver.add(label, [self._translator.translate(premise) for premise in premises])
        self._premises[label] = premises

    def check(
        self, claim: Statement, cited: Collection[str], also: Sequence[Formula] = ()
    ) -> Ruling:
        """Judge a claim against the cited premises.

        Args:
            claim: what should follow.
            cited: labels of premises.
            also: further premises, for this claim only and without a label.

        Raises:
            ParseError: the claim cannot be translated.
        """
        labels = tuple(sorted(set(cited)))
        true = self._translator.translate(claim)
        beside = [self._translator.translate(formula) for formula in also]
        known = [] if also else self._models.setdefault(labels, [])
        text = ""
        try:
            counter_model = _find(known, claim, truth=False)
            if counter_model is None:
                answer = self._solver.solve(labels, [*beside, self._translator.negation(true)])
                if answer.model is None:
                    return self._follows(labels, answer.core, beside)
                counter_model, text = self._read_model(answer.model, labels, also, claim)
                if counter_model is None and not text:
                    return Ruling(Verdict.UNKNOWN, "counter-model-unchecked")
                if counter_model is not None:
                    known.append(counter_model)
                    del known[:-_MODELS_KEPT]
            possible = _find(known, claim, truth=True) is not None
            possible = possible or self._has_model(labels, [*beside, true])
        except GaveUp as error:
            return Ruling(Verdict.UNKNOWN, str(error))
        reason = "not-entailed" if possible else "refuted"
        return Ruling(Verdict.INCORRECT, reason, counter_model=counter_model, model_text=text)

    def _follows(self, labels: tuple[str, ...], core: tuple[str, ...], beside: list[Any]) -> Ruling:
        """The claim follows; do the premises hold together?"""
        if beside:
            consistent = self._has_model(labels, beside)
        elif labels in self._consistent:
            consistent = self._consistent[labels]
        else:
            consistent = self._consistent[labels] = self._has_model(labels, [])
        if consistent:
            return Ruling(Verdict.CORRECT, "entailed", core)
        return Ruling(Verdict.UNKNOWN, "vacuous-premises", core)

    def _has_model(self, labels: tuple[str, ...], beside: list[Any]) -> bool:
        return self._solver.solve(labels, beside).model is not None

    def _read_model(
        self,
        model: Any,  # noqa: ANN401 - z3 is untyped
        labels: Sequence[str],
        also: Sequence[Formula],
        claim: Statement,
    ) -> tuple[Structure | None, str]:
        """Z3's model as a structure that passed the check, or in its own words for SMT-LIB."""
        premises = [*(p for label in labels for p in self._premises[label]), *also]
        if isinstance(claim, SmtTerm) or any(isinstance(p, SmtTerm) for p in premises):
            return None, str(model)[:_MODEL_CHARACTERS]
        true = [*(p for p in premises if not isinstance(p, SmtTerm)), Not(claim)]
        structure = self._translator.structure(model, true)
        return (structure if structure and _all_hold(structure, true) else None), ""


def _find(models: Sequence[Structure], claim: Statement, *, truth: bool) -> Structure | None:
    """A known model of the premises in which the claim has this truth value."""
    if isinstance(claim, SmtTerm):
        return None
    for model in reversed(models):
        try:
            if holds(model, claim) is truth:
                return model
        except (KeyError, TooMuchWork):  # the claim has a name that this model says nothing of
            continue
    return None


def _all_hold(structure: Structure, formulas: Sequence[Formula]) -> bool:
    try:
        return all(holds(structure, formula) for formula in formulas)
    except TooMuchWork:
        return False

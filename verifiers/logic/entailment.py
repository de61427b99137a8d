"""Does a claim follow from the premises it cites? One incremental Z3 solver per problem.

| premises and not claim | premises | premises and claim | verdict |
| --- | --- | --- | --- |
| no model | have a model | | correct, with the premises used (the core) |
| no model | no model | | unknown, `vacuous-premises` |
| model | | no model | incorrect, `refuted`, with the counter-model |
| model | | model | incorrect, `not-entailed`, with the counter-model |

The map is FoVer's (Kamoi et al., 2025, https://github.com/psunlpgroup/FoVer) with three values
instead of two: a solver that gives up says nothing, and premises that contradict each other prove
nothing. A counter-model is checked without Z3 (structures.py) before it may count.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from stepmill.records import Verdict
from stepmill.verifiers.logic.smtlib import SmtTerm
from stepmill.verifiers.logic.structures import Structure, TooMuchWork, holds
from stepmill.verifiers.logic.syntax import Formula
from stepmill.verifiers.logic.translation import Translator

Claim = Formula | SmtTerm


@dataclass(frozen=True, slots=True)
class SolverLimits:
    """How hard Z3 may try."""

    check_ms: int = 2_000
    """Wall-clock time of one call of the solver, in milliseconds."""
    check_steps: int = 20_000_000
    """Z3's own count of work in one call (`rlimit`), the same on every machine."""
    problem_ms: int = 20_000
    """Wall-clock time of one problem; what is left over after it is unknown."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The verdict on one claim."""

    verdict: Verdict
    reason: str
    """`entailed`, `refuted`, `not-entailed`, `vacuous-premises`, `time-out` or Z3's own words."""
    core: tuple[str, ...] = ()
    """Labels of premises that are enough, when the claim follows; not always the fewest."""
    counter_model: Structure | None = None
    """Where all cited premises are true and the claim is false. None for SMT-LIB, whose models stay
    in Z3's words (`model_text`)."""
    model_text: str = ""


class Entailment:
    """The premises of one problem, and one solver that answers for all of its steps.

    Each premise hangs on a switch, a Boolean of its own, so a step turns on what it cites and
    nothing is asserted twice.

    Args:
        translator: of the problem.
        limits: of the solver.
    """

    def __init__(self, translator: Translator, limits: SolverLimits | None = None) -> None:
        import z3  # heavy

        self._z3 = z3
        self._limits = limits or SolverLimits()
        self._translator = translator
        self._solver = z3.SimpleSolver()  # Solver() spends longer on choosing tactics than we need
        self._solver.set("rlimit", self._limits.check_steps)
        self._premises: dict[str, tuple[Claim, ...]] = {}
        self._switches: dict[str, Any] = {}
        self._consistent: dict[tuple[str, ...], Any] = {}
        self._deadline = time.monotonic() + self._limits.problem_ms / 1000

    def add(self, label: str, *premises: Claim) -> None:
        """Make premises known under a new label.

        Raises:
            ParseError: one cannot be translated; nothing is known under the label then.
        """
        translated = [self._translator.translate(premise) for premise in premises]
        switch = self._z3.Bool(f"premise?{label}")
        for expression in translated:
            self._solver.add(self._z3.Implies(switch, expression))
        self._premises[label], self._switches[label] = premises, switch

    def __contains__(self, label: str) -> bool:
        return label in self._premises

    def check(self, claim: Claim, cited: Collection[str], also: Collection[Formula] = ()) -> Ruling:
        """Judge a claim against the cited premises.

        Args:
            claim: what should follow.
            cited: labels of premises.
            also: further premises, for this claim only and without a label.

        Raises:
            ParseError: the claim cannot be translated.
        """
        labels = tuple(sorted(set(cited)))
        translated = self._translator.translate(claim)
        self._solver.push()
        try:
            for formula in also:
                self._solver.add(self._translator.translate(formula))
            self._solver.push()
            self._solver.add(self._z3.Not(translated))
            against = self._solve(labels)
            if against == self._z3.unsat:
                core = self._core(labels)
                self._solver.pop()
                return self._follows(labels, core, cached=not also)
            if against == self._z3.sat:
                model = self._solver.model()
                self._solver.pop()
                self._solver.add(translated)
                possible = self._solve(labels)
                if possible != self._z3.unknown:
                    reason = "not-entailed" if possible == self._z3.sat else "refuted"
                    stated = [p for label in labels for p in self._premises[label]]
                    return self._counter_model(reason, model, [*stated, *also], claim)
            return self._gave_up()
        finally:
            self._solver.pop(self._solver.num_scopes())

    def _follows(self, labels: tuple[str, ...], core: tuple[str, ...], *, cached: bool) -> Ruling:
        """The claim follows; do the premises hold together?"""
        possible = self._consistent.get(labels) if cached else None
        if possible is None:
            possible = self._solve(labels)
        if possible == self._z3.unknown:
            return self._gave_up()
        if cached:
            self._consistent[labels] = possible
        if possible == self._z3.sat:
            return Ruling(Verdict.CORRECT, "entailed", core)
        return Ruling(Verdict.UNKNOWN, "vacuous-premises", core)

    def _counter_model(
        self,
        reason: str,
        model: Any,  # noqa: ANN401
        premises: Sequence[Claim],
        claim: Claim,
    ) -> Ruling:
        formulas = [f for f in (*premises, claim) if not isinstance(f, SmtTerm)]
        if len(formulas) < len(premises) + 1:
            return Ruling(Verdict.INCORRECT, reason, model_text=str(model)[:2_000])
        structure = self._translator.structure(model, formulas)
        if structure is None or not _shows(structure, formulas[:-1], formulas[-1]):
            return Ruling(Verdict.UNKNOWN, "counter-model-unchecked")
        return Ruling(Verdict.INCORRECT, reason, counter_model=structure)

    def _solve(self, labels: Sequence[str]) -> Any:  # noqa: ANN401
        left_ms = int((self._deadline - time.monotonic()) * 1000)
        if left_ms <= 0:
            return self._z3.unknown
        self._solver.set("timeout", min(self._limits.check_ms, left_ms))
        return self._solver.check(*[self._switches[label] for label in labels])

    def _gave_up(self) -> Ruling:
        if time.monotonic() >= self._deadline:
            return Ruling(Verdict.UNKNOWN, "time-out")
        words = self._solver.reason_unknown()
        timed_out = words in ("timeout", "canceled", "max. resource limit exceeded")
        return Ruling(Verdict.UNKNOWN, "time-out" if timed_out else f"z3: {words}")

    def _core(self, labels: Sequence[str]) -> tuple[str, ...]:
        used = {switch.get_id() for switch in self._solver.unsat_core()}  # names print slowly
        return tuple(label for label in labels if self._switches[label].get_id() in used)


def _shows(structure: Structure, premises: Sequence[Formula], claim: Formula) -> bool:
    """Whether the premises are true and the claim false, by our own reading."""
    try:
        return all(holds(structure, p) for p in premises) and not holds(structure, claim)
    except TooMuchWork:
        return False

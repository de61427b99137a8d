"""Checks the steps of an argument, each from the premises it cites, and makes findings of it.

A step is `correct` when every claim in it follows from what it cites, whether or not that was right
itself: what is cited and not proved is listed as `rests_on`. The first wrong step is thus the one
where the reasoning broke.
"""

from collections.abc import Mapping, Sequence

from stepmill.records import Verdict
from stepmill.verifiers.claims import Finding, JsonValue, StepFindings, judge_step
from stepmill.verifiers.logic.closed_world import ClosedWorldError, closed_world, false_atoms
from stepmill.verifiers.logic.entailment import Entailment, Ruling, Statement
from stepmill.verifiers.logic.problems import NOTATIONS, Claim, LogicProblem, LogicStep
from stepmill.verifiers.logic.reading import ParseError
from stepmill.verifiers.logic.smtlib import SmtTerm
from stepmill.verifiers.logic.solver import IncrementalSolver, SolverLimits
from stepmill.verifiers.logic.structures import Structure, TooMuchWork, holds
from stepmill.verifiers.logic.syntax import Formula
from stepmill.verifiers.logic.translation import Translator
from stepmill.verifiers.logic.writing import to_fol

VERIFIER = "logic"
VERSION = "1"


def check_problem(problem: LogicProblem, limits: SolverLimits | None = None) -> list[StepFindings]:
    """Findings on each step, in order.

    Runs Z3 in this thread, and is not safe for two threads at once; `LogicVerifier` runs it in
    workers that can be killed.

    Raises:
        UserError: the notation is unknown.
    """
    return _Argument(problem, limits or SolverLimits()).check()


class _Argument:
    """One pass over the steps of a problem."""

    def __init__(self, problem: LogicProblem, limits: SolverLimits) -> None:
        self._problem = problem
        self._read = NOTATIONS[problem.notation]
        self._formulas: dict[str, tuple[Statement, ...]] = {}
        """What may be cited, by label."""
        self._unread: dict[str, str] = {}
        """Why the text under a label is not usable, by label."""
        self._unproved: set[str] = set()
        """Labels of earlier steps that are not correct."""
        try:
            translator = Translator(problem.integers, problem.declarations)
        except ParseError as error:
            translator = Translator(problem.integers)
            self._unread["declarations"] = str(error)
        self._translator = translator
        self._entailment = Entailment(translator, IncrementalSolver(limits))
        for premise in problem.premises:
            self._cite_as(premise.label, [premise.text])
        self._given = tuple(self._formulas)
        self._incomplete = bool(self._unread) or not problem.complete
        self._world: Structure | None = None
        self._no_world = ""
        """Why there is no closed world, where one is wanted."""
        if problem.closed_world:
            self._close_world()

    def check(self) -> list[StepFindings]:
        return [self._step(i, step) for i, step in enumerate(self._problem.steps)]

    def _cite_as(self, label: str, texts: Sequence[str]) -> None:
        """Make texts citable under a label, or note why they cannot be."""
        if label in self._formulas or label in self._unread:
            self._formulas.pop(label, None)
            self._unread[label] = f"label {label!r} is there twice"
            return
        try:
            formulas = tuple(self._read(text) for text in texts)
            self._entailment.add(label, *formulas)
            self._formulas[label] = formulas
        except ParseError as error:
            self._unread[label] = str(error)

    def _close_world(self) -> None:
        rules = _first_order([f for label in self._given for f in self._formulas[label]])
        if self._incomplete or len(rules) < len(self._given):
            self._no_world = "premises-not-parsed"
            return
        try:
            self._world = closed_world(rules, self._all_claims())
        except ClosedWorldError as error:
            self._no_world = str(error)

    def _all_claims(self) -> list[Formula]:
        claims: list[Statement] = []
        for claim in (claim for step in self._problem.steps for claim in step.claims):
            try:
                claims.append(self._read(claim.text))
            except ParseError:  # reported with its step
                continue
        return _first_order(claims)

    def _step(self, index: int, step: LogicStep) -> StepFindings:
        findings = [self._finding(claim, step) for claim in step.claims]
        judged = judge_step(index, VERIFIER, VERSION, findings, all_true="entailed", entails=True)
        if step.label:
            self._cite_as(step.label, [claim.text for claim in step.claims])
            if judged.verdict is not Verdict.CORRECT:
                self._unproved.add(step.label)
        return judged

    def _finding(self, claim: Claim, step: LogicStep) -> Finding:
        cites = self._given if step.cites is None else step.cites
        try:
            formula = self._read(claim.text)
            if step.assumes:
                return _unknown(claim, "assumption")
            for label in cites:
                if label not in self._formulas:
                    return _unknown(claim, *self._not_citable(label))
            ruling = self._ruling(formula, cites, all_cited=step.cites is None)
        except ParseError as error:
            return _unknown(claim, "not-parsed", {"message": str(error)})
        except (ClosedWorldError, TooMuchWork) as error:
            return _unknown(claim, str(error) or "too-large")
        if ruling.reason == "not-entailed" and step.cites is None and self._incomplete:
            return _unknown(claim, "premises-not-parsed", {"missing": sorted(self._unread)})
        rests_on = [label for label in cites if label in self._unproved]
        return _made(claim, formula, ruling, rests_on)

    def _not_citable(self, label: str) -> tuple[str, dict[str, JsonValue]]:
        if label in self._unread:
            return "premises-not-parsed", {"cites": label, "message": self._unread[label]}
        return "unknown-citation", {"cites": label}

    def _ruling(self, formula: Statement, cites: Sequence[str], *, all_cited: bool) -> Ruling:
        if not self._problem.closed_world:
            return self._entailment.check(formula, cites)
        if self._world is None:
            raise ClosedWorldError(self._no_world)
        if isinstance(formula, SmtTerm):
            raise ClosedWorldError("not-rules")
        self._translator.translate(formula)  # refuses a name with two numbers of arguments
        if not holds(self._world, formula):
            return Ruling(Verdict.INCORRECT, "refuted", counter_model=self._world)
        if all_cited:
            return Ruling(Verdict.CORRECT, "entailed", core=("closed world",))
        cited = _first_order([f for label in cites for f in self._formulas[label]])
        return self._entailment.check(formula, cites, false_atoms(self._world, [*cited, formula]))


def _first_order(formulas: Sequence[Statement]) -> list[Formula]:
    return [formula for formula in formulas if not isinstance(formula, SmtTerm)]


def _made(claim: Claim, formula: Statement, ruling: Ruling, rests_on: list[str]) -> Finding:
    detail: dict[str, JsonValue] = {}
    if not isinstance(formula, SmtTerm):
        detail["formula"] = to_fol(formula)
    if ruling.verdict is Verdict.CORRECT or ruling.core:
        detail["core"] = list(ruling.core)
    if ruling.counter_model is not None:
        detail["counter_model"] = ruling.counter_model.as_dict()
    if ruling.model_text:
        detail["counter_model"] = ruling.model_text
    if rests_on:
        detail["rests_on"] = rests_on
    return _finding(claim, ruling.verdict, ruling.reason, detail)


def _unknown(claim: Claim, reason: str, detail: Mapping[str, JsonValue] | None = None) -> Finding:
    return _finding(claim, Verdict.UNKNOWN, reason, detail or {})


def _finding(
    claim: Claim, verdict: Verdict, reason: str, detail: Mapping[str, JsonValue]
) -> Finding:
    return Finding(
        verifier=VERIFIER,
        version=VERSION,
        verdict=verdict,
        claim=claim.text,
        start=claim.start,
        end=claim.start + len(claim.text),
        lhs=None,
        rhs=None,
        reason=reason,
        detail=detail,
    )

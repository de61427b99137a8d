r"""Checkers: whether a whole solution's final answer is right, by the name a configuration gives.

A checker takes the text of a solution, finds the answer it states (extract.py) and compares it with
the problem's reference. It is shared by a run and safe for many checks at a time on one event loop.

It never guesses. A solution that was cut off by the token limit is `unknown: truncated`, unless
the text itself shows that its answer was finished before the cut: a closed `\boxed{}`, or an answer
whose line or sentence has ended. A solution that ended by itself without stating an answer is
`unknown: no-answer`, or `incorrect` where the setting `no_answer` says so.
"""

import os
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from stepmill.records import Outcome, Problem, Verdict, content_id
from stepmill.registry import Registry
from stepmill.settings import Settings
from stepmill.verifiers.answers.decisions import Decision
from stepmill.verifiers.answers.equivalence import Equivalence
from stepmill.verifiers.answers.numeric import close_numbers
from stepmill.verifiers.checker_settings import (
    CheckerSettings,
    ChoiceCheckerSettings,
    ExactCheckerSettings,
    ExtractionSettings,
    MathCheckerSettings,
    NumericCheckerSettings,
    PluginCheckerSettings,
    PythonCheckerSettings,
)
from stepmill.verifiers.custom import load_function
from stepmill.verifiers.extract import extract_answer, unwrap_answer
from stepmill.verifiers.options import listed_options, option_meant
from stepmill.verifiers.pool import Unknown, WorkerPool

__all__ = [
    "CHECKERS",
    "AnswerChecker",
    "Checker",
    "CheckerSettings",
    "ChoiceCheckerSettings",
    "ExactCheckerSettings",
    "MathCheckerSettings",
    "NumericCheckerSettings",
    "PluginCheckerSettings",
    "PythonCheckerSettings",
    "build_checker",
]


class Checker(Protocol):
    """Decides whether a solution's final answer is right."""

    version: str
    """Name, version and what else decides its verdicts, for evidence and provenance."""

    async def check(self, solution: str, problem: Problem, finish_reason: str) -> Outcome:
        """Verdict on the whole text of a solution; never raises on what a model may write.

        Args:
            solution: everything from the beginning of the solution, prefix included.
            problem: with its reference answer.
            finish_reason: how the last completion ended: `stop`, `length` or `abort`.
        """
        ...

    def close(self) -> None:
        """End worker processes; a closed checker is not used again."""
        ...


CHECKERS: Registry[Callable[[Any], Checker]] = Registry("checker")
"""Checkers by name. A factory takes its settings; a package's own takes `options`."""


def build_checker(settings: CheckerSettings) -> Checker:
    """The checker that a configuration asks for.

    Raises:
        UserError: there is no such checker, or no such function.
    """
    if isinstance(settings, PluginCheckerSettings):
        return CHECKERS[settings.name](settings.options)
    return CHECKERS[settings.kind](settings)


Compare = Callable[[str, Problem, str], Awaitable[Decision]]
"""Compares an extracted answer with a problem's reference, which is not empty; the last argument is
the whole solution."""


class AnswerChecker:
    """Finds the answer and hands it, with the problem, to a comparison.

    Args:
        version: see `Checker`.
        settings: how the answer is found.
        compare: decides on the answer as it was extracted.
        close: ends what the comparison uses.
    """

    def __init__(
        self,
        version: str,
        settings: ExtractionSettings,
        compare: Compare,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.version = version
        self._settings = settings
        self._compare = compare
        self.close = close

    async def check(self, solution: str, problem: Problem, finish_reason: str) -> Outcome:
        """See `Checker.check`."""
        if problem.answer is None or not problem.answer.strip():
            return Outcome(Verdict.UNKNOWN, None, "no-reference")
        if finish_reason == "abort":
            return Outcome(Verdict.UNKNOWN, None, "aborted")
        found = extract_answer(solution, self._settings.fallback)
        answer = None if found is None else found.text
        if finish_reason == "length" and (found is None or not found.complete):
            return Outcome(Verdict.UNKNOWN, answer, "truncated")
        if answer is None:
            wrong = self._settings.no_answer == "incorrect"
            return Outcome(Verdict.INCORRECT if wrong else Verdict.UNKNOWN, None, "no-answer")
        decision = await self._compare(answer, problem, solution)
        return Outcome(_VERDICT[decision.same], answer, decision.reason or decision.form)


_VERDICT = {True: Verdict.CORRECT, False: Verdict.INCORRECT, None: Verdict.UNKNOWN}


def _version(name: str, detail: str, settings: Settings) -> str:
    return f"{name} {detail} [{content_id(settings.model_dump(mode='json'))[:8]}]"


def _workers() -> int:
    """Checks in worker processes at a time: the engine and the loop need cores too."""
    return max(1, min(4, (os.cpu_count() or 2) // 2))


@CHECKERS.register("math")
def build_math_checker(settings: MathCheckerSettings) -> Checker:
    """Mathematical equivalence."""
    equivalence = Equivalence(
        settings.policy,
        time_limit_s=settings.time_limit_s,
        memory_mb=settings.memory_mb,
        workers=_workers() if settings.algebra else 0,
    )

    async def compare(answer: str, problem: Problem, _: str) -> Decision:
        return await equivalence.decide(_reference(problem), answer)

    version = _version("math", equivalence.version, settings)
    return AnswerChecker(version, settings, compare, equivalence.close)


@CHECKERS.register("choice")
def build_choice_checker(settings: ChoiceCheckerSettings) -> Checker:
    """Multiple choice."""
    forms = Equivalence(workers=0)

    def same(a: str, b: str) -> bool | None:
        return forms.decide_here(a, b).same

    async def compare(answer: str, problem: Problem, _: str) -> Decision:
        options = listed_options(problem.question)
        wanted = option_meant(unwrap_answer(_reference(problem)), options, same)
        given = option_meant(answer, options, same)
        if not wanted:
            return Decision(None, "", "no-such-option")
        if given is None:
            return Decision(None, "", "choice-or-value")
        return Decision(given == wanted, "choice")

    return AnswerChecker(_version("choice", forms.version, settings), settings, compare)


@CHECKERS.register("exact")
def build_exact_checker(settings: ExactCheckerSettings) -> Checker:
    """Exact text."""

    def plain(text: str) -> str:
        text = " ".join(unwrap_answer(text).split())
        return text.casefold() if settings.ignore_case else text

    async def compare(answer: str, problem: Problem, _: str) -> Decision:
        return Decision(plain(answer) == plain(_reference(problem)), "text")

    return AnswerChecker(_version("exact", "1", settings), settings, compare)


@CHECKERS.register("numeric")
def build_numeric_checker(settings: NumericCheckerSettings) -> Checker:
    """Numbers within a tolerance."""

    async def compare(answer: str, problem: Problem, _: str) -> Decision:
        return close_numbers(
            unwrap_answer(_reference(problem)),
            unwrap_answer(answer),
            settings.relative_tolerance,
            settings.absolute_tolerance,
        )

    return AnswerChecker(_version("numeric", "1", settings), settings, compare)


@CHECKERS.register("python")
def build_python_checker(settings: PythonCheckerSettings) -> Checker:
    """A user's own function."""
    load_function(settings.entry)  # so that a wrong entry is found before the run begins
    version = _version(f"python {settings.entry}", settings.version, settings)
    pool = WorkerPool(
        "stepmill.verifiers.custom:build",
        {"entry": settings.entry},
        workers=_workers(),
        time_limit_s=settings.time_limit_s,
        memory_mb=settings.memory_mb,
        version=version,
    )

    async def compare(answer: str, problem: Problem, solution: str) -> Decision:
        facts = {
            "id": problem.id,
            "question": problem.question,
            "answer": problem.answer,
            "meta": dict(problem.meta),
        }
        found = await pool.submit({"answer": answer, "solution": solution, "problem": facts})
        if isinstance(found, Unknown):
            return Decision(None, "", found.reason)
        return Decision(found, settings.entry, "undecided" if found is None else "")

    return AnswerChecker(version, settings, compare, pool.close)


def _reference(problem: Problem) -> str:
    return problem.answer or ""

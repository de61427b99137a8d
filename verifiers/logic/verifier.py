"""Logic checks off the event loop: worker processes that can be killed, one job per problem.

Z3 keeps to its own time-outs nearly always; the pool's kill is for the rest. A worker is replaced
after 500 problems, since Z3's contexts grow.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

from stepmill.records import Verdict
from stepmill.verifiers.claims import Finding, StepFindings
from stepmill.verifiers.logic.problems import NOTATIONS, LogicProblem, problem_from_dict
from stepmill.verifiers.logic.solver import SolverLimits
from stepmill.verifiers.logic.steps import VERIFIER, VERSION, check_problem
from stepmill.verifiers.logic.texts import english_problem
from stepmill.verifiers.pool import Unknown, WorkerPool

_ENTRY = "stepmill.verifiers.logic.verifier:make_worker"
_RECYCLE_AFTER = 500
_GRACE_S = 5.0
"""Between the end of a problem's time and the kill of its worker."""


class _Check(Protocol):
    def __call__(self, job: dict[str, Any]) -> list[dict[str, Any]]: ...


def make_worker(options: dict[str, int]) -> _Check:
    """The function that a worker runs: a problem's JSON in, findings' JSON out."""
    import z3  # noqa: F401 - loaded before the first job's clock runs

    limits = SolverLimits(**options)

    def check(job: dict[str, Any]) -> list[dict[str, Any]]:
        return [asdict(step) for step in check_problem(problem_from_dict(job), limits)]

    return check


class LogicVerifier:
    """Checks logic problems in worker processes; safe on any event loop and thread.

    Args:
        workers: problems in work at a time.
        limits: of Z3.
        memory_mb: address space of one worker.
        kill_s: seconds after which the worker of a problem is killed; None for some seconds after
            Z3 should have ended by itself.
    """

    def __init__(
        self,
        workers: int = 2,
        limits: SolverLimits | None = None,
        memory_mb: int = 2048,
        kill_s: float | None = None,
    ) -> None:
        limits = limits or SolverLimits()
        options = asdict(limits)
        self._pool = WorkerPool(
            _ENTRY,
            options,
            workers=workers,
            time_limit_s=limits.problem_ms / 1000 + _GRACE_S if kill_s is None else kill_s,
            memory_mb=memory_mb,
            recycle_after=_RECYCLE_AFTER,
            version=f"{VERIFIER}/{VERSION}/{options}",
        )

    async def check(self, problem: LogicProblem) -> list[StepFindings]:
        """Findings on each step; all unknown, with the reason, when the worker was killed.

        Raises:
            UserError: the notation is unknown, or no worker can be started.
        """
        NOTATIONS[problem.notation]  # here, where the mistake can be reported
        result = await self._pool.submit(problem.as_dict())
        if isinstance(result, Unknown):
            return [
                StepFindings(i, VERIFIER, VERSION, Verdict.UNKNOWN, result.reason)
                for i in range(len(problem.steps))
            ]
        return [_step_from_dict(step) for step in result]

    async def check_steps(
        self, question: str, steps: Sequence[str], *, closed_world: bool = False
    ) -> list[StepFindings]:
        """Findings on the steps of a solution in controlled English."""
        return await self.check(english_problem(question, steps, closed_world=closed_world))

    def close(self) -> None:
        """Kill the workers."""
        self._pool.close()


def _step_from_dict(data: dict[str, Any]) -> StepFindings:
    findings = tuple(
        Finding(**{**finding, "verdict": Verdict(finding["verdict"])})
        for finding in data["findings"]
    )
    return StepFindings(**{**data, "verdict": Verdict(data["verdict"]), "findings": findings})

"""One incremental Z3 solver per problem, kept within limits of time and work.

Each premise hangs on a switch, a Boolean of its own. A question turns on the switches of what it
cites, so nothing is asserted twice and what Z3 learned from one question serves the next.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_FIRST_TRY_STEPS = 100_000
"""Work of a first try without a time-out, for which Z3 would start a thread in every call. Enough
for a step of a puzzle or of a chain of rules, and done in less than a second."""
_NO_TIMEOUT = 2**32 - 1
"""Z3's own value for none."""
_OUT_OF_TIME = frozenset({"timeout", "canceled", "max. resource limit exceeded"})


@dataclass(frozen=True, slots=True)
class SolverLimits:
    """How hard Z3 may try."""

    check_ms: int = 2_000
    """Wall-clock time of one question, in milliseconds."""
    check_steps: int = 20_000_000
    """Z3's own count of work on one question (`rlimit`), the same on every machine."""
    problem_ms: int = 20_000
    """Wall-clock time of one problem; what is left over after it is unknown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether the premises that are on have a model."""

    model: Any
    """Z3's model, or None when there is none."""
    core: tuple[str, ...]
    """Without a model: labels of premises that are enough for that; not always the fewest."""


class GaveUp(Exception):
    """Raised when Z3 does not decide. The message is the reason: `time-out` or `z3: …`."""


class IncrementalSolver:
    """The premises of one problem.

    Args:
        limits: the time of the problem starts now.
    """

    def __init__(self, limits: SolverLimits) -> None:
        import z3  # heavy

        self._z3 = z3
        self._limits = limits
        self._solver = z3.SimpleSolver()  # Solver() spends longer on choosing tactics than we need
        self._solver.set("rlimit", _FIRST_TRY_STEPS)
        self._switches: dict[str, Any] = {}
        self._deadline = time.monotonic() + limits.problem_ms / 1000

    def add(self, label: str, expressions: Sequence[Any]) -> None:
        """Make expressions known under a new label."""
        switch = self._z3.Bool(f"premise?{label}")
        for expression in expressions:
            self._solver.add(self._z3.Implies(switch, expression))
        self._switches[label] = switch

    def solve(self, labels: Sequence[str], beside: Sequence[Any] = ()) -> Answer:
        """Whether the premises with these labels have a model in which `beside` holds.

        Raises:
            GaveUp: Z3 did not decide.
        """
        self._solver.push()
        try:
            self._solver.add(*beside)
            answer = self._check([self._switches[label] for label in labels])
            if answer == self._z3.sat:
                return Answer(self._solver.model(), ())
            if answer == self._z3.unsat:
                # by id, since names print slowly
                used = {switch.get_id() for switch in self._solver.unsat_core()}
                core = [label for label in labels if self._switches[label].get_id() in used]
                return Answer(None, tuple(core))
            if self._left_ms() <= 0:
                raise GaveUp("time-out")
            words = self._solver.reason_unknown()
            raise GaveUp("time-out" if words in _OUT_OF_TIME else f"z3: {words}")
        finally:
            self._solver.pop()

    def _check(self, switches: list[Any]) -> Any:  # noqa: ANN401 - z3 is untyped
        """Z3's answer with little work, then with all that is allowed."""
        if self._left_ms() <= 0:
            return self._z3.unknown
        answer = self._solver.check(*switches)
        left_ms = self._left_ms()
        if answer != self._z3.unknown or left_ms <= 0:
            return answer
        self._solver.set("timeout", min(self._limits.check_ms, left_ms))
        self._solver.set("rlimit", self._limits.check_steps)
        answer = self._solver.check(*switches)
        self._solver.set("timeout", _NO_TIMEOUT)
        self._solver.set("rlimit", _FIRST_TRY_STEPS)
        return answer

    def _left_ms(self) -> int:
        return int((self._deadline - time.monotonic()) * 1000)

"""Whether a prediction equals a reference answer: the one door to everything in this folder.

`Equivalence` decides most answers at once, in this process, by exact forms that are bounded in
time; the rest goes to math-verify in a worker that is killed at the deadline. Every result says
which form decided, or why none did. Reference and prediction are treated alike, so that their
order cannot matter.
"""

from collections.abc import Iterable
from importlib.metadata import version

from stepmill.records import content_id
from stepmill.verifiers.answers.clean import clean
from stepmill.verifiers.answers.comparison import Comparer
from stepmill.verifiers.answers.decisions import NEEDS_ALGEBRA, Decision
from stepmill.verifiers.answers.limits import MAX_CHARACTERS, TooLarge, too_large_for_algebra
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.extract import unwrap_answer
from stepmill.verifiers.pool import Unknown, WorkerPool

VERSION = "1"
"""Of the rules in this folder; it changes whenever a verdict may."""

_CACHED = 50_000


class Equivalence:
    """Compares answers under one policy. Safe to share between tasks of an event loop.

    Args:
        policy: the disputable cases.
        time_limit_s: of one check by computer algebra.
        memory_mb: address space of one worker.
        workers: checks by computer algebra at a time; 0: none, what needs it stays unknown.
    """

    def __init__(
        self,
        policy: AnswerPolicy | None = None,
        *,
        time_limit_s: float = 5.0,
        memory_mb: int = 2048,
        workers: int = 2,
    ) -> None:
        self.policy = policy or AnswerPolicy()
        library = f"math-verify {version('math-verify')}" if workers else "exact forms only"
        self.version = f"{VERSION} ({library}, policy {content_id(self.policy.model_dump())[:8]})"
        self._comparer = Comparer(self.policy)
        self._known: dict[tuple[str, str], Decision] = {}
        self._pool: WorkerPool | None = None
        if workers:
            self._pool = WorkerPool(
                "stepmill.verifiers.answers.mathverify:build",
                {"policy": self.policy.model_dump()},
                workers=workers,
                time_limit_s=time_limit_s,
                memory_mb=memory_mb,
                version=self.version,
            )

    def decide_here(self, reference: str, prediction: str) -> Decision:
        """Decide by exact forms alone; the reason is `NEEDS_ALGEBRA` where they are not enough."""
        key = (reference, prediction)
        found = self._known.get(key)
        if found is None:
            found = self._decide(reference, prediction)
            if len(self._known) >= _CACHED:
                self._known.clear()
            self._known[key] = found
        return found

    def _decide(self, reference: str, prediction: str) -> Decision:
        if max(len(reference), len(prediction)) > MAX_CHARACTERS:
            return Decision(None, "", "too-large")
        a, b = _canonical(reference), _canonical(prediction)
        if not b:
            return Decision(False, "empty")
        if not a:
            return Decision(None, "", "no-reference")
        try:
            found = self._comparer.compare(a, b)
        except TooLarge:
            return Decision(None, "", "too-large")
        if found.reason == NEEDS_ALGEBRA and (too_large_for_algebra(a) or too_large_for_algebra(b)):
            return Decision(None, "", "too-large")
        return found

    async def decide(self, reference: str, prediction: str) -> Decision:
        """Decide, with computer algebra in a worker where it is needed."""
        found = self.decide_here(reference, prediction)
        if found.reason != NEEDS_ALGEBRA:
            return found
        if self._pool is None:
            return Decision(None, "", "undecided")
        return _from_worker(await self._pool.submit(_job(reference, prediction)))

    def decide_all(self, pairs: Iterable[tuple[str, str]]) -> list[Decision]:
        """Decide many pairs (reference, prediction), in order, for callers without a loop."""
        wanted = list(pairs)
        found = [self.decide_here(*pair) for pair in wanted]
        open_ones = [i for i, d in enumerate(found) if d.reason == NEEDS_ALGEBRA]
        if self._pool is None:
            results: list[object] = [Unknown("undecided") for _ in open_ones]
        else:
            results = self._pool.map(_job(*wanted[i]) for i in open_ones)
        for i, result in zip(open_ones, results, strict=True):
            found[i] = _from_worker(result)
        return found

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool.close()


def _canonical(answer: str) -> str:
    return clean(unwrap_answer(answer))


def _job(reference: str, prediction: str) -> dict[str, str]:
    """Sorted, since the comparison is symmetric: both orders are one job."""
    first, second = sorted((_canonical(reference), _canonical(prediction)))
    return {"gold": first, "prediction": second}


def _from_worker(result: object) -> Decision:
    if isinstance(result, Unknown):
        return Decision(None, "", result.reason)
    if not isinstance(result, dict):
        raise TypeError(f"a worker answered {result!r}, not a decision")
    return Decision(result["same"], result["form"], result["reason"])

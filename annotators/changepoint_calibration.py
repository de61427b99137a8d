"""What the first problems of a shard teach the change-point search of the others.

Skill, self-correction and the rise along a right prefix are a policy's own. The searches of the
first problems use default weights; all others wait for them and use weights fitted to their counts.
Which problems are first is fixed by the shard, so that results do not depend on the order in which
work finishes, nor on where a run was killed and continued.
"""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stepmill.annotators.changepoint_model import DEFAULT, Weights, fit

Counts = NDArray[np.int64]


class Calibration:
    """Hands out weights; see the module. All use is from one event loop.

    Args:
        first: ids of the problems that others learn from, in their order; none means that all use
            the default weights.
    """

    def __init__(self, first: Sequence[str] = ()) -> None:
        self._counts: dict[str, list[Counts]] = {name: [] for name in first}
        self._open = set(first)
        self._learned = DEFAULT
        self._ready = asyncio.Event()

    async def weights(self, problem_id: str) -> Weights:
        """Weights for the searches of a problem; waits until the first problems are done."""
        if not self._counts or problem_id in self._counts:
            return DEFAULT
        await self._ready.wait()
        return self._learned

    def learn(self, problem_id: str, counts: Counts) -> None:
        """Take in one searched solution, (n, 2): right and wrong draws at each prefix."""
        if problem_id in self._counts:
            self._counts[problem_id].append(counts)

    def close(self, problem_id: str) -> None:
        """Say that nothing more comes from a problem, be it that it failed."""
        self._open.discard(problem_id)
        if not self._open and self._counts and not self._ready.is_set():
            self._learned = fit([one for found in self._counts.values() for one in found])
            self._ready.set()

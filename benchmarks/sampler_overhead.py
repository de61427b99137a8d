"""CPU time that the ledger sampler adds to each rollout, journal included.

The engine and the answer check cost nothing here, so what is left is the bookkeeping of one
request: ledger, lock, places in flight, journal, verdicts. It must stay far below the time that a
GPU takes for a rollout, since one event loop does it for all problems of a process.

    python benchmarks/sampler_overhead.py [--requests 2000] [--n 8] [--text 600]
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stepmill.engines.base import EngineStats, Policy, Prefix
from stepmill.pipelines.ledger import Ledger
from stepmill.pipelines.sampling import InFlight, LedgerSampler, Spending, StopFlag
from stepmill.records import Completion, Outcome, Problem, SamplingParams, Verdict


class InstantEngine:
    """Answers at once with the same text of `length` characters, a token per four."""

    identity: dict[str, Any] = {"kind": "instant", "model": "none", "template": "0" * 64}  # noqa: RUF012
    simulated = True

    def __init__(self, length: int) -> None:
        self.stats = EngineStats()
        self._text = "So 2 + 2 = 4.\n" * (length // 14)
        self._ids = tuple(range(1000, 1000 + length // 4))

    async def start(self) -> None:
        """Nothing to load."""

    async def complete(
        self, prefix: Prefix, draws: Sequence[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        """One completion per draw."""
        ids = self._ids
        return [Completion(self._text, "stop", len(ids), i, token_ids=ids) for i in draws]

    async def close(self) -> None:
        """Nothing to free."""


class Agreeable:
    """Finds every answer right."""

    version = "agreeable 1"

    async def check(self, solution: str, problem: Problem, finish_reason: str) -> Outcome:
        """Right, whatever it is."""
        return Outcome(Verdict.CORRECT, "4", "number")


async def measure(requests: int, n: int, length: int, folder: Path) -> tuple[float, int]:
    """CPU seconds for `requests` requests of `n` draws, and bytes of the journal."""
    path = folder / "journal.jsonl"
    ledger = Ledger(path)
    sampler = LedgerSampler(
        Policy(InstantEngine(length), SamplingParams()),
        ledger,
        Agreeable(),
        InFlight(256),
        StopFlag(),
        Spending(),
    )
    problem = Problem("p", "What is 2 + 2?" * 20, "4", "made-up")
    prefixes = [Prefix(problem.question, f"Step {i}. " + "x" * length) for i in range(requests)]
    began = time.process_time()
    for start in range(0, requests, 64):
        await asyncio.gather(
            *(sampler.rollouts(problem, p, n) for p in prefixes[start : start + 64])
        )
    spent = time.process_time() - began
    ledger.close()
    return spent, path.stat().st_size


def main() -> None:
    """Print one line of figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--n", type=int, default=8, help="draws per request")
    parser.add_argument("--text", type=int, default=600, help="characters per rollout")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spent, size = asyncio.run(measure(args.requests, args.n, args.text, Path(folder)))
    rollouts = args.requests * args.n
    print(
        f"{rollouts} rollouts, {args.n} per request: {1e6 * spent / rollouts:.0f} us of CPU and"
        f" {size / rollouts:.0f} bytes of journal per rollout"
    )


if __name__ == "__main__":
    main()

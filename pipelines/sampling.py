"""Between a search and a policy: ledger first, then the engine, then the answer check.

`LedgerSampler` is the one place where money is spent. It asks the ledger before the policy, keeps
the draws in flight at a bound that all shards share, journals what comes back, and has every
completion checked. Two searches that want the same prefix at once wait for one request.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from stepmill.annotators.rollouts import Rollout
from stepmill.engines.base import Policy, Prefix
from stepmill.errors import Stopped
from stepmill.pipelines.ledger import Ledger
from stepmill.records import Completion, Outcome, Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Checker(Protocol):
    """Decides whether a solution's final answer is right."""

    version: str
    """Name and version, for evidence and provenance."""

    def check(self, solution: str, problem: Problem, finish_reason: str) -> Awaitable[Outcome]:
        """Verdict on the whole text `solution`; never raises on what a model may write."""
        ...


class InFlight:
    """A bound on draws in flight, first come first served; shared by all shards of a process.

    A request larger than the bound goes alone, as if it had just that size. All use must be from
    one event loop.

    Args:
        limit: draws in flight at most, at least 1.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.level = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def slots(self, n: int) -> "AsyncIterator[None]":
        """Hold `n` slots."""
        n = min(n, self.limit)
        if self._waiting or self.level + n > self.limit:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((n, turn))
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():
                    self.level -= n  # the slots were ours already
                self._admit()
                raise
        else:
            self.level += n
        try:
            yield
        finally:
            self.level -= n
            self._admit()

    def _admit(self) -> None:
        """Let in who waits, in order, as far as there is room; forget who was cancelled."""
        while self._waiting:
            wanted, turn = self._waiting[0]
            if not turn.cancelled():
                if self.level + wanted > self.limit:
                    return
                self.level += wanted
                turn.set_result(None)
            self._waiting.popleft()


@dataclass(slots=True)
class Spending:
    """What one shard took from its policies in this process."""

    calls: int = 0
    """Requests sent."""
    completions: int = 0
    reused: int = 0
    """Completions that were wanted and stored before; each is counted once."""
    generated_tokens: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0


@dataclass(slots=True)
class StopFlag:
    """Set once to end a run: no new request is sent; what is in flight still lands."""

    parent: "StopFlag | None" = None
    """A wider flag that stops this one too: a shard's parent is the run."""
    reason: str = ""

    def check(self) -> None:
        """Raise Stopped when the work is to end."""
        flag: StopFlag | None = self
        while flag is not None:
            if flag.reason:
                raise Stopped(flag.reason)
            flag = flag.parent


def storable(completion: Completion) -> Completion:
    """The completion with lone surrogates in its text replaced, which no file format takes."""
    text = completion.text
    if text.isascii():
        return completion
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return completion if clean == text else replace(completion, text=clean)


@dataclass(slots=True)
class _Place:
    """One prefix of one problem, as this process knows it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by who draws or checks there."""
    n_served: int = 0
    """Draws handed out at least once."""


@dataclass(slots=True)
class LedgerSampler:
    """Draws from one policy through one shard's ledger."""

    sampling: Policy
    ledger: Ledger
    checker: Checker
    in_flight: InFlight
    stop: StopFlag
    spending: Spending
    policy: str = field(init=False)
    """Fingerprint of the policy that draws."""
    _places: dict[tuple[str, str], _Place] = field(
        init=False, default_factory=lambda: defaultdict(_Place)
    )

    def __post_init__(self) -> None:
        self.policy = self.sampling.fingerprint

    async def rollouts(self, problem: Problem, prefix: Prefix, n: int) -> Sequence[Rollout]:
        """The first `n` draws at `prefix`, in the order of their index.

        Raises:
            EngineError: the engine could not draw them; what is stored stays stored.
            Stopped: the run is to end; likewise.
        """
        place = self._places[problem.id, prefix.text]
        async with place.lock:
            missing = self.ledger.missing(self.policy, problem.id, prefix, n)
            if missing:
                await self._draw(problem, prefix, missing)
            await self._check(problem, prefix, n)
            self.spending.reused += max(0, n - place.n_served - len(missing))
            place.n_served = max(place.n_served, n)
            return self.ledger.rollouts(self.policy, problem.id, prefix, n)

    async def _draw(self, problem: Problem, prefix: Prefix, draws: list[int]) -> None:
        self.stop.check()
        async with self.in_flight.slots(len(draws)):
            self.stop.check()
            completions = await self.sampling.engine.complete(
                prefix, draws, self.sampling.params, self.sampling.seed
            )
            if [c.draw for c in completions] != draws:
                raise ValueError(
                    f"the engine answered draws {[c.draw for c in completions]} of problem"
                    f" {problem.id!r} where {draws} were asked; it must keep their order"
                )
            completions = [storable(c) for c in completions]
            self._count(completions)
            self.ledger.add(self.policy, problem.id, prefix, completions)

    def _count(self, completions: Sequence[Completion]) -> None:
        self.spending.calls += 1
        self.spending.completions += len(completions)
        for completion in completions:
            self.spending.generated_tokens += completion.n_tokens
            self.spending.prompt_tokens += completion.prompt_tokens
            self.spending.cached_prompt_tokens += completion.cached_tokens or 0

    async def _check(self, problem: Problem, prefix: Prefix, n: int) -> None:
        unchecked = self.ledger.unchecked(self.policy, problem.id, prefix, n)
        if not unchecked:
            return
        outcomes = await asyncio.gather(
            *(self.checker.check(prefix.text + c.text, problem, c.finish_reason) for c in unchecked)
        )
        found = {c.draw: outcome for c, outcome in zip(unchecked, outcomes, strict=True)}
        self.ledger.add_outcomes(self.policy, problem.id, prefix, found)

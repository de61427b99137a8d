"""Searches over the prefixes of one solution: which prefix to spend draws on next, or stop.

A search is a coroutine that awaits `PrefixProbe.alive`; hundreds of them feed one engine. It
leaves its findings in the probe. The last step of the first dead prefix is the first error.

Sources: Math-Shepherd (every step); OmegaPRM, section 3.2 (binary search, sound only where a dead
prefix stays dead).
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from stepmill.annotators.prefix_probe import PrefixProbe
from stepmill.errors import Stopped
from stepmill.registry import Registry

T = TypeVar("T")
Search = Callable[[PrefixProbe], Coroutine[Any, Any, None]]
SEARCHES: Registry[Search] = Registry("search method")
"""Searches that look at one solution at a time, by name."""


async def all_of(work: Iterable[Awaitable[T]]) -> list[T]:
    """The results of `work`, done at once and in its order; raises the first failure.

    It waits for all of them even then: what was asked of an engine is paid for and must reach the
    ledger, and nobody may draw on behind the back of a shard that has ended.
    """
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    failures = [o for o in outcomes if isinstance(o, BaseException)]
    for failure in sorted(failures, key=lambda f: isinstance(f, Stopped)):  # the cause comes first
        raise failure
    return [o for o in outcomes if not isinstance(o, BaseException)]


@SEARCHES.register("none")
async def none(probe: PrefixProbe) -> None:
    """Probe nothing: for labels that rest on the outcome or on a judge alone."""


@SEARCHES.register("every-step")
async def every_step(probe: PrefixProbe) -> None:
    """Probe each prefix, all at once; n - 1 prefixes."""
    await all_of(probe.alive(t) for t in range(1, probe.n_steps))


@SEARCHES.register("scan")
async def scan(probe: PrefixProbe) -> None:
    """Probe from the left and stop at the first prefix that is dead or undecided."""
    for t in range(1, probe.n_steps):
        if not await probe.alive(t):
            return


@SEARCHES.register("binary")
async def binary(probe: PrefixProbe) -> None:
    """Halve the range between an alive and a dead prefix; about log2(n) prefixes.

    The bare problem counts as alive and the finished, wrong solution as dead. An undecided prefix
    ends the search: what is known stays known, and the label rule sees the gap.
    """
    alive, dead = 0, probe.n_steps
    while dead - alive > 1:
        middle = (alive + dead) // 2
        state = await probe.alive(middle)
        if state is None:
            return
        alive, dead = (middle, dead) if state else (alive, middle)

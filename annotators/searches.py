"""Searches over the prefixes of one solution: which prefix to spend draws on next, or stop.

A search is a coroutine that awaits `PrefixProbe.alive`; hundreds of them feed one engine. It
leaves its findings in the probe. `first_dead` in the notes below is the first prefix from which
the right answer is not reached any more: its last step is the first error.

Sources: Math-Shepherd (every step); OmegaPRM, section 3.2 (binary search, sound only where a dead
prefix stays dead).
"""

import asyncio
from collections.abc import Awaitable, Callable

from stepmill.annotators.rollouts import PrefixProbe
from stepmill.registry import Registry

Search = Callable[[PrefixProbe], Awaitable[None]]
SEARCHES: Registry[Search] = Registry("search method")
"""Searches that look at one solution at a time, by name."""


@SEARCHES.register("every-step")
async def every_step(probe: PrefixProbe) -> None:
    """Probe each prefix, all at once; n - 1 prefixes."""
    await asyncio.gather(*(probe.alive(t) for t in range(1, probe.n_steps)))


@SEARCHES.register("scan")
async def scan(probe: PrefixProbe) -> None:
    """Probe from the left and stop at the first prefix that is not alive."""
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

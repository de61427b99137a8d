"""vLLM's own counters of its prefix cache (`/metrics`), summed over an engine's servers.

They count for all clients of a server, from the moment this engine opened. A completion says what
its own prompt took from the cache only when the server runs with `--enable-prompt-tokens-details`.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from stepmill.engines.server_client import RequestRefused, ServerClient, TryAgain

PATIENCE = 2.0
"""Seconds that a look may take; a busy server's counters can wait."""


class CacheCounts(NamedTuple):
    """Prompt tokens."""

    queries: int
    """Looked up in the prefix cache."""
    hits: int
    """Found there."""


def prefix_cache_counts(metrics: str) -> CacheCounts | None:
    """Counters since the server's start; None when the text of `/metrics` has none."""
    totals = {"vllm:prefix_cache_queries_total": 0, "vllm:prefix_cache_hits_total": 0}
    found = False
    for line in metrics.splitlines():
        name = line.partition("{")[0].partition(" ")[0]
        if name in totals:  # one line for each engine behind the server
            totals[name] += int(float(line.rpartition(" ")[2]))
            found = True
    return CacheCounts(*totals.values()) if found else None


class PrefixCacheWatch:
    """Adds up what the servers' prefix caches did since the first look.

    Args:
        client: the session to use.
        living: addresses of the servers to ask.
    """

    def __init__(self, client: ServerClient, living: Callable[[], Sequence[str]]) -> None:
        self._client = client
        self._living = living
        self._last: dict[str, CacheCounts] = {}
        self.total = CacheCounts(0, 0)

    async def look(self) -> None:
        """Ask every living server once; those without counters are passed over."""
        await asyncio.gather(*(self._look_at(url) for url in self._living()))

    async def _look_at(self, url: str) -> None:
        counts = None
        with suppress(RequestRefused, TryAgain, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                counts = prefix_cache_counts(await self._client.get(f"{url}/metrics"))
        if counts is None:
            return
        last = self._last.get(url, counts)
        if counts.queries < last.queries:
            last = CacheCounts(0, 0)  # the server was started anew
        self._last[url] = counts
        self.total = CacheCounts(
            self.total.queries + counts.queries - last.queries,
            self.total.hits + counts.hits - last.hits,
        )

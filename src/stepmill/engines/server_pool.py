"""Which server a request goes to: affinity, bounded load, and servers that die and come back.

Requests of one family (one question and the prefixes of its solutions) prefer one server, whose
prefix cache then holds what they share. Each family ranks the servers by a hash (rendezvous
hashing: Thaler and Ravishankar 1998, IEEE/ACM Transactions on Networking 6(1)), so that a dead
server's families spread over the living and nobody else moves; and takes the first that is not
loaded above its share (consistent hashing with bounded loads, arXiv 1608.01350).

Knows nothing of HTTP. Belongs to one event loop.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b

from stepmill.errors import EngineDead

SPILL = 1.25
"""A server above this multiple of the mean load passes new requests on."""
QUIET = 8
"""Below 1/8 of its bound no server is loaded: affinity alone decides."""
FIRST_PROBE, LONGEST_PROBE = 0.25, 15.0
"""Seconds between two looks at a dead server; they double from the first to the longest."""


@dataclass(slots=True, eq=False)
class Server:
    """One server as the pool sees it."""

    url: str
    in_flight: int = 0
    """Draws it is working on."""
    alive: bool = True
    reason: str = ""
    """Why it is out, while it is."""
    requests: int = 0
    """Requests that were sent to it."""
    failures: int = 0
    """How often it was taken out."""


@dataclass(slots=True, eq=False)
class _Waiting:
    family: str
    n: int
    avoid: Container[Server]
    turn: asyncio.Future[Server]


class ServerPool:
    """The servers of one engine.

    Args:
        urls: their addresses.
        max_in_flight: draws that one server may work on at a time.
        patience: seconds without a living server after which the pool gives up.
        probe: looks at a server that was taken out; returns why it cannot be used yet, or an
            empty string when it is well again.
    """

    def __init__(
        self,
        urls: Sequence[str],
        max_in_flight: int,
        patience: float,
        probe: Callable[[str], Awaitable[str]],
    ) -> None:
        self.servers = [Server(url) for url in urls]
        self._max_in_flight = max_in_flight
        self._patience = patience
        self._probe = probe
        self._waiting: deque[_Waiting] = deque()
        self._probes: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._dead = ""  # why no request is taken any more

    @property
    def living(self) -> list[Server]:
        """Servers that take requests."""
        return [server for server in self.servers if server.alive]

    @asynccontextmanager
    async def slot(
        self, family: str, n: int, avoid: Container[Server] = ()
    ) -> AsyncIterator[Server]:
        """Hold room for `n` draws on one server; waits, first come first served, for room.

        Args:
            family: what the request shares with others, such as its question.
            n: draws, at most `max_in_flight`.
            avoid: servers that are taken only when no other has room.

        Raises:
            EngineDead: no server has been alive for `patience` seconds.
        """
        server = None if self._waiting else self._choose(family, n, avoid)
        if server is None:
            server = await self._wait(family, n, avoid)
        else:
            server.in_flight += n
        server.requests += 1
        try:
            yield server
        finally:
            self._release(server, n)

    def take_out(self, server: Server, reason: str) -> None:
        """Send nothing more to `server` until a probe finds it well."""
        if self._dead or not server.alive:
            return
        server.alive, server.reason = False, reason
        server.failures += 1
        task = asyncio.create_task(self._revive(server))
        self._probes.add(task)
        task.add_done_callback(self._probes.discard)
        if not self.living and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._give_up)

    async def close(self) -> None:
        """Stop looking at dead servers; who waits or comes later gets EngineDead."""
        self._end(self._dead or "the engine was closed")
        if self._timer is not None:
            self._timer.cancel()
        for task in self._probes:
            task.cancel()
        await asyncio.gather(*self._probes, return_exceptions=True)

    def _choose(self, family: str, n: int, avoid: Container[Server]) -> Server | None:
        """First server in the family's order with room and a fair load; else with room."""
        if self._dead:
            raise EngineDead(self._dead)
        living = self.living
        total = sum(server.in_flight for server in living) + n
        fair = max(SPILL * total / max(len(living), 1), self._max_in_flight / QUIET, n)
        order = sorted(living, key=lambda s: (s in avoid, _rank(family, s.url)))
        for limit in (min(fair, self._max_in_flight), self._max_in_flight):
            for server in order:
                if server.in_flight + n <= limit:
                    return server
        return None

    async def _wait(self, family: str, n: int, avoid: Container[Server]) -> Server:
        turn: asyncio.Future[Server] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(family, n, avoid, turn))
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._release(turn.result(), n)  # the room was ours already
            raise

    def _release(self, server: Server, n: int) -> None:
        server.in_flight -= n
        self._serve_waiting()

    def _serve_waiting(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            if not first.turn.done():
                server = self._choose(first.family, first.n, first.avoid)
                if server is None:
                    return
                server.in_flight += first.n
                first.turn.set_result(server)
            self._waiting.popleft()

    async def _revive(self, server: Server) -> None:
        pause = FIRST_PROBE
        while reason := await self._probe(server.url):
            server.reason = reason
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PROBE)
        server.alive, server.reason = True, ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._serve_waiting()

    def _give_up(self) -> None:
        reasons = "; ".join(f"{server.url}: {server.reason}" for server in self.servers)
        self._end(f"no server has answered for {self._patience:g} s ({reasons})")

    def _end(self, reason: str) -> None:
        self._dead = reason
        while self._waiting:
            turn = self._waiting.popleft().turn
            if not turn.done():
                turn.set_exception(EngineDead(reason))


def _rank(family: str, url: str) -> bytes:
    text = f"{url}\n{family}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()

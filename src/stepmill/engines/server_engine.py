"""The engine of kind `server`: policies behind vLLM servers, reached over HTTP.

The draws of one prefix are one request, so that they share its prompt; requests that share a
question go to one server, whose prefix cache holds the rest. Routing is in server_pool.py, attempts
in server_requests.py, HTTP in server_client.py, token ids in server_tokens.py, the protocol in
server_protocol.py.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stepmill.engines.base import EngineStats, Policy, Prefix, draw_seed
from stepmill.engines.draws import draw_groups
from stepmill.engines.prompts import prompt_id
from stepmill.engines.server import ServerSettings
from stepmill.engines.server_client import ServerClient, TryAgain
from stepmill.engines.server_facts import ServerFacts, differences, look_at
from stepmill.engines.server_metrics import PrefixCacheWatch
from stepmill.engines.server_pool import ServerPool
from stepmill.engines.server_requests import Requester
from stepmill.errors import EngineDead, EngineError, UserError
from stepmill.records import Completion, SamplingParams

WATCH_EVERY = 10.0
"""Seconds between two looks at the servers' own counters."""


@dataclass(frozen=True, slots=True)
class _Open:
    """What an engine has between `start` and `close`."""

    client: ServerClient
    facts: ServerFacts
    pool: ServerPool
    requester: Requester
    cache: PrefixCacheWatch
    watcher: asyncio.Task[None]


class ServerEngine:
    """Draws from a model that servers run.

    Args:
        settings: addresses, model, bounds.
        key: the servers' key, or None; it goes into requests only.
    """

    simulated = False

    def __init__(self, settings: ServerSettings, key: str | None) -> None:
        self.identity: dict[str, Any] = {"kind": "server", "prompt": prompt_id(settings.prompt)}
        self.stats = EngineStats()
        self._settings = settings
        self._key = key
        self._open: _Open | None = None

    async def start(self) -> None:
        """Look at every server and at what it serves.

        Servers that do not answer are left out until they do, as long as one answers.

        Raises:
            UserError: no server answers, or one cannot serve this policy, or they differ.
        """
        settings = self._settings
        client = ServerClient(
            self._key, settings.timeout, settings.max_in_flight * len(settings.urls)
        )
        try:
            facts, silent = await self._look_at_all(client)
        except BaseException:
            await client.close()
            raise
        self.identity |= {"model": facts.model, "root": facts.root}

        async def probe(url: str) -> str:
            try:
                found = await look_at(client, url, facts.model, settings.prompt)
            except (TryAgain, UserError) as error:
                return str(error)
            return differences({"the other servers": facts, url: found})

        pool = ServerPool(settings.urls, settings.max_in_flight, settings.patience, probe)
        for server in pool.servers:
            if server.url in silent:
                pool.take_out(server, silent[server.url])
        requester = Requester(settings, client, facts, pool)
        cache = PrefixCacheWatch(client, lambda: [server.url for server in pool.living])
        await cache.look()  # what was counted before this engine came is not its own
        watcher = asyncio.create_task(self._keep_watching())
        self._open = _Open(client, facts, pool, requester, cache, watcher)

    async def complete(
        self, prefix: Prefix, draws: Sequence[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        """See `Engine.complete`.

        Log-probabilities are what the server says; vLLM's are those of the model's own
        distribution, before temperature and top-p, unless it was started otherwise.
        """
        opened = self._open
        if opened is None:
            raise EngineDead("the engine has not been started, or was closed")
        # A server that is not vLLM may ignore `n`, and counts tokens for whole requests only.
        together = opened.facts.is_vllm and params.temperature > 0
        groups = draw_groups(draws, together=together, most=self._settings.max_in_flight)
        policy = Policy(self, params).fingerprint
        requests = [
            opened.requester.draw(
                prefix, group, params, draw_seed(seed, policy, prefix.key, group[0])
            )
            for group in groups
        ]
        self.stats.in_flight += len(draws)
        try:
            if len(requests) == 1:
                found = await requests[0]
            else:
                found = await _all(requests)
        finally:
            self.stats.in_flight -= len(draws)
            self.stats.retries = opened.requester.retries
        self._count(len(requests), found)
        return found

    async def close(self) -> None:
        """Note the servers' last counters, close every connection.

        Requests in flight raise EngineDead.
        """
        if self._open is None:
            return
        self._open.watcher.cancel()
        await asyncio.gather(self._open.watcher, return_exceptions=True)
        await self._look()
        await self._open.pool.close()
        await self._open.client.close()
        self._open = None

    async def _look_at_all(self, client: ServerClient) -> tuple[ServerFacts, dict[str, str]]:
        """What the servers are, and why some of them do not answer, by address."""
        settings = self._settings
        found = await asyncio.gather(
            *(look_at(client, url, settings.model, settings.prompt) for url in settings.urls),
            return_exceptions=True,
        )
        facts: dict[str, ServerFacts] = {}
        silent: dict[str, str] = {}
        for url, result in zip(settings.urls, found, strict=True):
            if isinstance(result, ServerFacts):
                facts[url] = result
            elif isinstance(result, TryAgain):
                silent[url] = str(result)
            else:
                raise result
        if not facts:
            raise UserError(
                f"no server answers: {'; '.join(silent.values())}. A server answers once its model"
                " is loaded, so wait for it (`curl URL/health`), or correct `urls`; start one with"
                " `python -m vllm.entrypoints.openai.api_server --model MODEL --port PORT`"
            )
        if differing := differences(facts):
            raise UserError(f"{differing}; all `urls` must serve one model in the same way")
        return next(iter(facts.values())), silent

    async def _keep_watching(self) -> None:
        while True:
            await asyncio.sleep(WATCH_EVERY)
            await self._look()

    async def _look(self) -> None:
        """Bring what the servers say of themselves into `stats`."""
        if self._open is not None:
            await self._open.cache.look()
            self.stats.extra["prefix_cache"] = self._open.cache.total._asdict()
            self.stats.extra["servers"] = [asdict(server) for server in self._open.pool.servers]

    def _count(self, n_requests: int, completions: list[Completion]) -> None:
        self.stats.requests += n_requests
        self.stats.completions += len(completions)
        for completion in completions:
            self.stats.prompt_tokens += completion.prompt_tokens
            self.stats.cached_prompt_tokens += completion.cached_tokens or 0
            self.stats.generated_tokens += completion.n_tokens


async def _all(requests: Sequence[Coroutine[Any, Any, list[Completion]]]) -> list[Completion]:
    """Results of coroutines in one list; the first failure stops the others."""
    try:
        async with asyncio.TaskGroup() as tasks:
            parts = [tasks.create_task(request) for request in requests]
    except* (EngineError, UserError) as failures:
        raise failures.exceptions[0] from None
    return [completion for part in parts for completion in part.result()]

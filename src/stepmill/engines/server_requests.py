"""One request for draws, sent until it succeeds, is refused, or has failed too often."""

import asyncio
import random

from stepmill.engines.base import Prefix
from stepmill.engines.prompts import Prompt
from stepmill.engines.server import ServerSettings
from stepmill.engines.server_client import RequestRefused, ServerClient, TryAgain
from stepmill.engines.server_facts import ServerFacts, refused_key
from stepmill.engines.server_pool import Server, ServerPool
from stepmill.engines.server_protocol import completions_from, sampling_body
from stepmill.engines.server_tokens import ServerTokens
from stepmill.errors import EngineError, UserError
from stepmill.records import Completion, SamplingParams

LONGEST_PAUSE = 30.0
"""Seconds between two attempts that a server did not ask for."""
LONGEST_WISH = 300.0
"""Seconds that a server may ask for (Retry-After)."""


class Requester:
    """Asks servers of one model for completions.

    Args:
        settings: bounds and prompt.
        client: the session to use.
        facts: what the servers are.
        pool: says which server is next.
    """

    def __init__(
        self, settings: ServerSettings, client: ServerClient, facts: ServerFacts, pool: ServerPool
    ) -> None:
        self._settings = settings
        self._client = client
        self._facts = facts
        self._pool = pool
        self.retries = 0
        """Attempts after first ones, over all requests."""
        if facts.is_vllm:
            self._tokens = ServerTokens(client, facts.model, settings.prompt, joins=facts.joins)
        else:
            self._prompt = Prompt(settings.prompt)

    async def draw(
        self, prefix: Prefix, draws: list[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        """Completions of `prefix`, one for each of `draws`.

        Args:
            prefix: what to continue.
            draws: successive indices.
            params: how to draw.
            seed: of the first draw; vLLM counts up from it.

        Raises:
            EngineError: refused, or (retryable) failed too often.
            EngineDead: no server is left.
            UserError: all such requests would be refused.
        """
        avoid: set[Server] = set()
        attempt = 0
        while True:
            async with self._pool.slot(prefix.question, len(draws), avoid) as server:
                try:
                    return await self._ask(server.url, prefix, draws, params, seed)
                except RequestRefused as error:
                    raise self._refusal(error, prefix) from None
                except TryAgain as error:
                    trouble = error
                if trouble.suspect:
                    self._pool.take_out(server, str(trouble))
            if attempt == self._settings.retries:
                raise EngineError(
                    f"no success after {attempt + 1} attempts; the last: {trouble}", retryable=True
                )
            avoid.add(server)
            await asyncio.sleep(self._pause(attempt, trouble, avoid))
            attempt += 1
            self.retries += 1

    def _pause(self, attempt: int, trouble: TryAgain, avoid: set[Server]) -> float:
        """Seconds until the next attempt."""
        if any(server not in avoid for server in self._pool.living):
            return 0.0  # another server has not been asked yet
        if trouble.wait is not None:
            return min(trouble.wait, LONGEST_WISH)
        pause = min(self._settings.backoff * 2.0**attempt, LONGEST_PAUSE)
        return pause * random.uniform(0.5, 1.5)

    async def _ask(
        self, url: str, prefix: Prefix, draws: list[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        """One attempt at one server."""
        body = sampling_body(params, vllm=self._facts.is_vllm)
        body |= {"model": self._facts.model, "n": len(draws)}
        if self._settings.seeds:
            body["seed"] = seed
        if self._facts.context is None:
            body["prompt"] = self._prompt.render(prefix.question) + prefix.text
        else:
            ids = await self._tokens.ids(url, prefix)
            body["max_tokens"] = _room(self._facts.context, len(ids), prefix, params)
            body["prompt"] = ids
        return completions_from(await self._client.post(f"{url}/v1/completions", body), draws)

    def _refusal(self, error: RequestRefused, prefix: Prefix) -> EngineError | UserError:
        """What a refusal means: 400, 413 and 422 may lie in this request, others lie in all."""
        if error.status in (400, 413, 422):
            return EngineError(f"the problem {prefix.question[:60]!r} was refused: {error}")
        if error.status in (401, 403):
            return refused_key(error)
        return UserError(f"no completions of the model {self._facts.model!r}: {error}")


def _room(context: int, n_prompt: int, prefix: Prefix, params: SamplingParams) -> int:
    """Tokens that a completion may have; where the context ends it first, it ends by `length`."""
    if params.max_tokens >= context:
        raise UserError(
            f"`max_tokens` is {params.max_tokens}, and the servers' context has only {context}"
            " tokens; lower it, or start them with a larger `--max-model-len`"
        )
    if n_prompt >= context:
        raise EngineError(
            f"a prompt of {n_prompt} tokens leaves no room in the servers' context of {context}:"
            " start them with a larger `--max-model-len`, or leave out the problem"
            f" {prefix.question[:60]!r}"
        )
    return min(params.max_tokens, context - n_prompt)

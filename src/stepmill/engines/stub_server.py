"""A loopback server that speaks vLLM's protocol with no model behind it, and fails on demand.

For tests and benchmarks of the client, here and in packages that build on this one; nothing else
imports it. Its tokenizer knows one token per character, the token's id is the character's code
point, and a completion is a pure function of prompt and seed: every answer is known beforehand.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

BOS = 1
"""Put before a plain prompt, as real tokenizers do."""


def chat_text(messages: list[dict[str, str]]) -> str:
    """The stub's chat template."""
    turns = [f"<{message['role']}>{message['content']}</{message['role']}>" for message in messages]
    return "".join([*turns, "<assistant>"])


def answer_text(prompt: str, seed: int | None) -> str:
    """What the stub writes: it tells the draws of a prompt apart by their seed."""
    return f"draw {seed} of {len(prompt)} characters\n"


@dataclass(frozen=True, slots=True)
class Fault:
    """How one completion request goes wrong."""

    status: int = 0
    """HTTP status to answer with; 0 when `how` says something else."""
    message: str = "injected"
    """The server's message."""
    retry_after: str = ""
    """Value of a Retry-After header; empty for none."""
    how: str = "status"
    """`status`, `hang` (no answer), `reset` (the connection breaks) or `garbage` (not JSON)."""


@dataclass(slots=True, eq=False)
class StubServer:
    """One server; an async context manager that listens while it is open."""

    model: str = "stub"
    root: str = "/models/stub"
    models: tuple[str, ...] | None = None
    """Names it lists; None for the one it has."""
    vllm: bool = True
    """False: a server with `/v1` alone, as other makers have."""
    context: int = 100_000
    """Tokens of prompt and completion."""
    key: str = ""
    """Key it wants; empty for none."""
    latency: float = 0.0
    """Seconds that a completion takes."""
    gate: int = 0
    """No completion is answered before this many draws have been in flight at a time."""
    answer: Callable[[str, int | None], str] = answer_text
    """Text of one draw, from prompt and seed."""
    faults: deque[Fault] = field(default_factory=deque)
    """How the next completion requests go wrong, in this order; afterwards all goes well."""
    healthy: bool = True
    """What `/health` says."""
    port: int = 0
    """Port to listen on; 0 lets the system choose, and holds the choice from then on."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the completion requests, faulty ones included."""
    prompts: list[str] = field(default_factory=list)
    """Their prompts as text."""
    calls: dict[str, int] = field(default_factory=dict)
    """Requests by path."""
    in_flight: int = 0
    """Draws asked for and not answered."""
    most_in_flight: int = 0
    cached: int = 0
    """Prompt tokens that the prefix cache would have held."""
    queried: int = 0
    """Prompt tokens asked for, over all draws."""
    _gate_open: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Address, once it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.die()

    async def listen(self) -> None:
        """Begin to listen; after `die` on the same port again."""
        app = web.Application(client_max_size=1 << 26)
        routes: list[tuple[str, str, Callable[[web.Request], Awaitable[web.StreamResponse]]]] = [
            ("GET", "/health", self._health),
            ("GET", "/v1/models", self._models),
            ("POST", "/v1/completions", self._completions),
        ]
        if self.vllm:
            routes += [
                ("POST", "/tokenize", self._tokenize),
                ("POST", "/detokenize", self._detokenize),
                ("GET", "/metrics", self._metrics),
            ]
        for method, path, handler in routes:
            app.router.add_route(method, path, handler)
        # Cancelled when the client hangs up, as vLLM's are.
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.0, handler_cancellation=True
        )
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, backlog=4096, reuse_address=True)
        await site.start()
        self.port = runner.addresses[0][1]
        self._runner = runner

    async def die(self) -> None:
        """Break every connection and refuse new ones."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            for connection in list(runner.server.connections if runner.server else []):
                if connection.transport is not None:
                    connection.transport.abort()
            await runner.cleanup()

    def _note(self, request: web.Request) -> None:
        self.calls[request.path] = self.calls.get(request.path, 0) + 1

    async def _health(self, request: web.Request) -> web.Response:
        self._note(request)
        return web.Response(status=200 if self.healthy else 503)

    async def _models(self, request: web.Request) -> web.Response:
        self._note(request)
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            got = request.headers.get("Authorization", "none")
            return _error(401, f"Incorrect API key provided: {got}")
        names = self.models or (self.model,)
        return web.json_response({"data": [{"id": name, "root": self.root} for name in names]})

    async def _tokenize(self, request: web.Request) -> web.Response:
        self._note(request)
        body = await request.json()
        special = [BOS] if body.get("add_special_tokens", "prompt" in body) else []
        text = chat_text(body["messages"]) if "messages" in body else body["prompt"]
        ids = special + self.encode(text)
        return web.json_response({"tokens": ids, "count": len(ids), "max_model_len": self.context})

    async def _detokenize(self, request: web.Request) -> web.Response:
        self._note(request)
        return web.json_response({"prompt": self.decode((await request.json())["tokens"])})

    async def _metrics(self, request: web.Request) -> web.Response:
        self._note(request)
        name = "vllm:prefix_cache_{}_total"
        lines = [
            "# HELP vllm:prefix_cache_queries_total Prefix cache queries.",
            f'{name.format("queries")}{{engine="0",model_name="{self.model}"}} {self.queried:.1f}',
            f'{name.format("hits")}{{engine="0",model_name="{self.model}"}} {self.cached:.1f}',
        ]
        return web.Response(text="\n".join(lines))

    def encode(self, text: str) -> list[int]:
        """Ids of a text, with no special token."""
        return [ord(character) for character in text]

    def decode(self, ids: list[int]) -> str:
        """Text of ids."""
        return "".join("<s>" if i == BOS else chr(i) for i in ids)

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        self._note(request)
        body = await request.json()
        given = body["prompt"]
        prompt = given if isinstance(given, str) else self.decode(given)
        self.bodies.append(body)
        self.prompts.append(prompt)
        n = body.get("n", 1)
        self.in_flight += n
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.most_in_flight >= self.gate:
                self._gate_open.set()
            await self._gate_open.wait()
            if self.latency:
                await asyncio.sleep(self.latency)
            if self.faults:
                return await _fail(request, self.faults.popleft())
            if body["model"] != self.model:
                return _error(404, f"The model `{body['model']}` does not exist.")
            if len(prompt) + body["max_tokens"] > self.context:
                return _error(400, f"maximum context length is {self.context} tokens")
            return web.json_response(self._answer(body, prompt, n))
        finally:
            self.in_flight -= n

    def _answer(self, body: dict[str, Any], prompt: str, n: int) -> dict[str, Any]:
        self.queried += n * len(prompt)
        self.cached += (n - 1) * len(prompt)
        choices = []
        for i in range(n):
            seed = None if body.get("seed") is None else body["seed"] + i
            whole = self.answer(prompt, seed)
            text = whole[: body["max_tokens"]]
            choice: dict[str, Any] = {
                "index": i,
                "text": text,
                "finish_reason": "length" if len(text) < len(whole) else "stop",
                "logprobs": None,
            }
            if "logprobs" in body:
                choice["logprobs"] = {"token_logprobs": [-0.5] * len(text)}
            if self.vllm and body.get("return_token_ids"):
                choice["token_ids"] = self.encode(text)
            choices.append(choice)
        generated = sum(len(choice["text"]) for choice in choices)
        return {
            "choices": choices,
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": generated},
        }


async def _fail(request: web.Request, fault: Fault) -> web.StreamResponse:
    if fault.how == "hang":
        await asyncio.sleep(3600)
    if fault.how == "reset" and request.transport is not None:
        request.transport.abort()
    if fault.how == "garbage":
        return web.Response(text="<html>")
    response = _error(fault.status or 500, fault.message)
    if fault.retry_after:
        response.headers["Retry-After"] = fault.retry_after
    return response


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "code": status}}, status=status)

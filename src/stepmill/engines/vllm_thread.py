"""vLLM's engine in a thread of its own, and requests to it from an event loop.

Why not `AsyncLLM`: it always puts the engine into another process, which on a CPU starts 7 s later
and generates no faster, and a start by `spawn` runs the user's script again. `LLMEngine` is stepped
by whoever owns it; stepped in the event loop it would stop the loop for as long as a step takes, so
a thread does it. On a CPU the model computes in that thread; on a GPU vLLM's default holds, which
is a process for the model, and the thread only passes messages. The thread knows nothing of
prefixes and completions.
"""

import asyncio
import itertools
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from stepmill.engines.vllm_errors import death, is_refusal
from stepmill.errors import EngineDead, EngineError

CLOSE_SECONDS = 60.0
"""How long `close` waits for the step in progress; a thread that hangs ends with the process."""


class Steppable(Protocol):
    """What is used of `vllm.LLMEngine`."""

    def add_request(self, request_id: str, prompt: object, params: object, /) -> object:
        """Take a request in; raises where it is refused."""
        ...

    def abort_request(self, request_ids: list[str], /) -> None:
        """Forget requests."""
        ...

    def has_unfinished_requests(self) -> bool:
        """Whether there is anything to step for; `step` may wait for ever otherwise."""
        ...

    def step(self) -> Sequence[Any]:
        """One token for every sequence of the batch; returns `vllm.RequestOutput`s."""
        ...


@dataclass(frozen=True, slots=True)
class _Add:
    request_id: str
    prompt: object
    params: object
    answer: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class _Abort:
    request_ids: list[str]


class EngineThread:
    """Owns one engine.

    Args:
        open_engine: builds it; runs in the thread and may take minutes.
        close_engine: ends it; runs in the thread.
    """

    def __init__(
        self, open_engine: Callable[[], Steppable], close_engine: Callable[[Any], None]
    ) -> None:
        self._open = open_engine
        self._close = close_engine
        self._inbox: queue.SimpleQueue[_Add | _Abort | None] = queue.SimpleQueue()
        self._answers: dict[str, asyncio.Future[Any]] = {}  # used by the thread only
        self._numbers = itertools.count()
        self._over = threading.Lock()
        self._end: EngineDead | None = None  # set, under the lock, when nothing more is answered
        # A daemon: if the process ends without `close`, a thread in a step must not hold it up.
        self._thread = threading.Thread(target=self._work, name="stepmill-vllm", daemon=True)

    async def start(self) -> Any:  # noqa: ANN401 - vLLM's own type, not installed everywhere
        """Open the engine and return it, to be read only.

        Raises:
            Exception: whatever `open_engine` raised.
        """
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Any] = self._loop.create_future()
        self._thread.start()
        return await self._ready

    async def generate(self, requests: Iterable[tuple[object, object]]) -> list[Any]:
        """Answer requests, in their order, when all are finished. A cancelled call aborts them.

        Args:
            requests: prompts and `vllm.SamplingParams`, as `LLMEngine.add_request` takes them.

        Raises:
            EngineError: vLLM refused one of them.
            EngineDead: the engine is gone.
        """
        adds = [
            _Add(str(next(self._numbers)), prompt, params, self._loop.create_future())
            for prompt, params in requests
        ]
        with self._over:
            if self._end is not None:
                raise _again(self._end)
            for add in adds:
                self._inbox.put(add)
        try:
            return await asyncio.gather(*(add.answer for add in adds))
        finally:
            # Cancelled, or one of them was refused: nobody wants the others any more.
            unwanted = [a.request_id for a in adds if a.answer.cancel() or a.answer.cancelled()]
            if unwanted:
                self._inbox.put(_Abort(unwanted))

    async def close(self) -> None:
        """End the thread after the step in progress; requests that are open raise EngineDead."""
        self._inbox.put(None)
        await asyncio.to_thread(self._thread.join, CLOSE_SECONDS)

    def _work(self) -> None:
        try:
            engine = self._open()
        except BaseException as error:  # noqa: BLE001 - the thread's edge: `start` raises it
            self._finish(EngineDead("the engine did not start"))
            self._post(partial(_answer, self._ready, error))
            return
        self._post(partial(_answer, self._ready, engine))
        end = EngineDead("the engine was closed")
        try:
            while self._take_in(engine):
                self._hand_out(engine.step())
        except BaseException as error:  # noqa: BLE001 - the thread's edge: every request raises it
            end = death(error)
            end.__cause__ = error
        self._finish(end)
        self._close(engine)

    def _take_in(self, engine: Steppable) -> bool:
        """Pass on what has come in, waiting for it while the engine is idle; False to end."""
        while True:
            try:
                item = self._inbox.get(block=not engine.has_unfinished_requests())
            except queue.Empty:
                return True
            if item is None:
                return False
            if isinstance(item, _Abort):
                for request_id in item.request_ids:
                    self._answers.pop(request_id, None)
                engine.abort_request(item.request_ids)
            else:
                self._add(engine, item)

    def _add(self, engine: Steppable, add: _Add) -> None:
        self._answers[add.request_id] = add.answer
        try:
            engine.add_request(add.request_id, add.prompt, add.params)
        except Exception as error:
            if not is_refusal(error):
                raise
            del self._answers[add.request_id]
            refusal = EngineError(f"vLLM refused a request: {error}")
            self._post(partial(_answer, add.answer, refusal))

    def _hand_out(self, outputs: Sequence[Any]) -> None:
        done = [
            (self._answers.pop(output.request_id), output)
            for output in outputs
            if output.finished and output.request_id in self._answers
        ]
        if done:
            self._post(partial(_answer_all, done))

    def _finish(self, end: EngineDead) -> None:
        """Let every open request, and every later one, raise `end`."""
        with self._over:
            self._end = end
        unanswered = list(self._answers.values())
        while not self._inbox.empty():
            item = self._inbox.get()
            if isinstance(item, _Add):
                unanswered.append(item.answer)
        self._post(partial(_answer_all, [(answer, _again(end)) for answer in unanswered]))

    def _post(self, callback: Callable[[], None]) -> None:
        if not self._loop.is_closed():  # else nobody waits for an answer any more
            self._loop.call_soon_threadsafe(callback)


def _again(end: EngineDead) -> EngineDead:
    """A fresh copy: one exception that is raised in many tasks gathers all their tracebacks."""
    copy = EngineDead(*end.args)
    copy.__cause__ = end.__cause__
    return copy


def _answer_all(answers: Iterable[tuple[asyncio.Future[Any], object]]) -> None:
    for future, answer in answers:
        _answer(future, answer)


def _answer(future: asyncio.Future[Any], answer: object) -> None:
    if future.done():  # cancelled meanwhile
        return
    if isinstance(answer, BaseException):
        future.set_exception(answer)
    else:
        future.set_result(answer)

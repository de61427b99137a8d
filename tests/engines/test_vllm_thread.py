import asyncio
import threading
from dataclasses import dataclass

import pytest

from stepmill.engines.vllm_thread import EngineThread
from stepmill.errors import EngineDead, EngineError


@dataclass
class Output:
    request_id: str
    prompt: object
    finished: bool


class Countdown:
    """An engine whose answers are known: a request for n is finished after n steps.

    It computes in `step` only, like vLLM's; `gate` holds a step up until it is set.
    """

    def __init__(self):
        self.left: dict[str, int] = {}
        self.taken = threading.Semaphore(0)
        self.aborted: list[str] = []
        self.closed_in: threading.Thread | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.broken = False

    def add_request(self, request_id, prompt, params, /):
        if prompt == "bad":
            raise ValueError("no such prompt")
        if prompt == "deadly":
            raise RuntimeError("the process is gone")
        self.left[request_id] = params
        self.taken.release()

    def abort_request(self, request_ids, /):
        self.aborted += request_ids
        for request_id in request_ids:
            self.left.pop(request_id, None)

    def has_unfinished_requests(self):
        return bool(self.left)

    def step(self):
        self.gate.wait(20)
        assert self.left, "vLLM may wait for ever when there is nothing to do"
        if self.broken:
            raise RuntimeError("CUDA error: out of memory")
        outputs = []
        for request_id in list(self.left):
            self.left[request_id] -= 1
            done = self.left[request_id] == 0
            if done:
                del self.left[request_id]
            outputs.append(Output(request_id, "answer", done))
        return outputs

    async def has_taken(self, n):
        """Wait until `n` more requests have come in."""
        for _ in range(n):
            assert await asyncio.to_thread(self.taken.acquire, timeout=20)

    def close(self):
        self.closed_in = threading.current_thread()


def run(scenario):
    """Run `scenario(thread, engine)` against a Countdown, and close it."""
    engine = Countdown()
    thread = EngineThread(lambda: engine, Countdown.close)

    async def main():
        assert await thread.start() is engine
        try:
            return await asyncio.wait_for(scenario(thread, engine), 30)
        finally:
            engine.gate.set()
            await thread.close()

    return asyncio.run(main()), engine


def test_answers_come_in_the_order_of_the_requests():
    async def scenario(thread, engine):
        return await thread.generate([("a", 3), ("b", 1), ("c", 2)])

    outputs, engine = run(scenario)
    assert [o.request_id for o in outputs] == ["0", "1", "2"]
    assert not engine.aborted


def test_many_calls_share_the_engine():
    async def scenario(thread, engine):
        calls = (thread.generate([(f"{i}", 1 + i % 7)] * 3) for i in range(50))
        return await asyncio.gather(*calls)

    results, _ = run(scenario)
    ids = [output.request_id for outputs in results for output in outputs]
    assert len(set(ids)) == 150


def test_the_loop_runs_while_a_step_computes():
    async def scenario(thread, engine):
        engine.gate.clear()
        call = asyncio.create_task(thread.generate([("a", 1)]))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not call.done()
        engine.gate.set()
        await call

    run(scenario)


def test_a_refused_request_fails_alone():
    async def scenario(thread, engine):
        engine.gate.clear()
        good = asyncio.create_task(thread.generate([("good", 2)]))
        with pytest.raises(EngineError, match="no such prompt") as error:
            await thread.generate([("bad", 1)])
        assert not isinstance(error.value, EngineDead)
        assert not error.value.retryable
        engine.gate.set()
        assert len(await good) == 1

    run(scenario)


def test_requests_beside_a_refused_one_are_not_worked_on():
    async def scenario(thread, engine):
        with pytest.raises(EngineError):
            await thread.generate([("long", 10**9), ("bad", 1)])
        await thread.generate([("next", 1)])
        return engine.left

    left, engine = run(scenario)
    assert left == {}
    assert engine.aborted == ["0"]


def test_a_cancelled_call_is_aborted():
    async def scenario(thread, engine):
        call = asyncio.create_task(thread.generate([("long", 10**9), ("long", 10**9)]))
        await engine.has_taken(2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await thread.generate([("next", 1)])
        return dict(engine.left)

    left, engine = run(scenario)
    assert left == {}
    assert sorted(engine.aborted) == ["0", "1"]


def test_when_a_step_fails_every_request_learns_that_the_engine_is_dead():
    async def scenario(thread, engine):
        engine.gate.clear()
        calls = [asyncio.create_task(thread.generate([("a", 5)])) for _ in range(3)]
        await engine.has_taken(1)
        engine.broken = True
        engine.gate.set()
        for call in calls:
            with pytest.raises(EngineDead, match=r"out of memory.*gpu_memory_utilization"):
                await call
        with pytest.raises(EngineDead, match="out of memory") as later:
            await thread.generate([("a", 1)])
        assert isinstance(later.value.__cause__, RuntimeError)

    _, engine = run(scenario)
    assert engine.closed_in is not None


def test_an_engine_that_dies_while_it_is_idle_is_dead_for_the_next_request():
    async def scenario(thread, engine):
        with pytest.raises(EngineDead, match="the process is gone"):
            await thread.generate([("deadly", 1)])

    run(scenario)


def test_closing_ends_open_requests_and_closes_the_engine_in_its_thread():
    async def scenario(thread, engine):
        call = asyncio.create_task(thread.generate([("long", 10**9)]))
        await engine.has_taken(1)
        await thread.close()
        with pytest.raises(EngineDead, match="closed"):
            await call
        with pytest.raises(EngineDead, match="closed"):
            await thread.generate([("a", 1)])

    _, engine = run(scenario)
    assert engine.closed_in is not None
    assert engine.closed_in.name == "stepmill-vllm"


def test_an_engine_that_does_not_open_raises_its_own_error():
    def fail():
        raise FileNotFoundError("no weights")

    async def main():
        thread = EngineThread(fail, Countdown.close)
        with pytest.raises(FileNotFoundError, match="no weights"):
            await thread.start()
        with pytest.raises(EngineDead):
            await thread.generate([("a", 1)])
        await thread.close()

    asyncio.run(main())

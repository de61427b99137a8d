"""What goes wrong at a server, and what becomes of the request; stubs fail on demand."""

import asyncio
from collections import deque
from contextlib import AsyncExitStack

import pytest

from stepmill.engines.base import Prefix
from stepmill.engines.server import ServerSettings
from stepmill.engines.server_engine import ServerEngine
from stepmill.engines.stub_server import Fault, StubServer
from stepmill.errors import EngineDead, EngineError, UserError
from stepmill.records import SamplingParams

PARAMS = SamplingParams(max_tokens=64)
PREFIX = Prefix("What is 2 + 3?", "Step 1")


async def ask(*stubs, prefix=PREFIX, draws=(0,), params=PARAMS, **options):
    """One request through an engine of its own; returns completions and stats."""
    options = {"backoff": 0.01, "timeout": 5, "patience": 0.3, **options}
    async with AsyncExitStack() as stack:
        for stub in stubs:
            await stack.enter_async_context(stub)
        urls = [stub.url for stub in stubs]
        engine = ServerEngine(ServerSettings.model_validate({"urls": urls, **options}), None)
        await engine.start()
        try:
            found = await engine.complete(prefix, draws, params, seed=7)
        finally:
            await engine.close()
        return found, engine.stats


@pytest.mark.parametrize(
    "fault",
    [
        Fault(429),
        Fault(500),
        Fault(503),
        Fault(how="reset"),
        Fault(how="garbage"),
    ],
)
def test_what_may_pass_is_asked_again(fault):
    stub = StubServer(faults=deque([fault, fault]))
    found, stats = asyncio.run(ask(stub))
    assert len(found) == 1
    assert stats.retries == 2
    assert len(stub.bodies) == 3
    assert stub.bodies[0] == stub.bodies[2]


def test_a_server_that_hangs_is_timed_out():
    stub = StubServer(faults=deque([Fault(how="hang")]))
    _, stats = asyncio.run(ask(stub, timeout=0.3))
    assert stats.retries == 1


def test_a_failure_at_one_server_is_asked_again_at_another():
    stubs = [StubServer(faults=deque([Fault(500)] * 20)), StubServer()]
    found, stats = asyncio.run(ask(*stubs, prefix=Prefix("a question")))
    other = ask(*reversed(stubs), prefix=Prefix("a question"))
    found += asyncio.run(other)[0]
    assert len(found) == 2
    assert len(stubs[0].bodies) <= 2
    assert stats.retries <= 1


def test_retries_have_an_end_and_the_error_says_the_last_reason():
    stub = StubServer(faults=deque([Fault(500, "out of luck")] * 9))
    with pytest.raises(EngineError, match=r"3 attempts.*out of luck") as caught:
        asyncio.run(ask(stub, retries=2))
    assert caught.value.retryable
    assert not isinstance(caught.value, EngineDead)
    assert len(stub.bodies) == 3


@pytest.mark.parametrize("wish", ["0.5", "Wed, 21 Oct 2015 07:28:00 GMT", "soon"])
def test_a_wish_to_wait_is_read_in_both_of_its_forms(wish, monkeypatch):
    stub = StubServer(faults=deque([Fault(429, retry_after=wish)]))
    pauses = []
    sleep = asyncio.sleep

    async def noted(seconds, *rest):
        pauses.append(seconds)
        await sleep(0, *rest)

    monkeypatch.setattr("stepmill.engines.server_requests.asyncio.sleep", noted)
    asyncio.run(ask(stub))
    expected = {"0.5": 0.5, "soon": pytest.approx(0.01, rel=0.5)}.get(wish, 0.0)
    assert any(pause == expected for pause in pauses)


def test_all_servers_gone_for_good_ends_the_engine():
    async def main():
        stub = StubServer(latency=0.2)
        async with stub:
            engine = ServerEngine(
                ServerSettings(urls=(stub.url,), patience=0.3, backoff=0.01), None
            )
            await engine.start()
            waiting = asyncio.create_task(engine.complete(PREFIX, [0], PARAMS, seed=7))
            await asyncio.sleep(0.1)
            await stub.die()
            with pytest.raises(EngineDead, match=r"no server has answered for 0\.3 s"):
                await waiting
            await engine.close()

    asyncio.run(main())


def test_what_was_in_flight_at_a_dying_server_goes_to_the_others():
    async def main():
        stubs = [StubServer(gate=999), StubServer(), StubServer()]
        async with stubs[0], stubs[1], stubs[2]:
            urls = tuple(stub.url for stub in stubs)
            engine = ServerEngine(ServerSettings(urls=urls, backoff=0.01), None)
            await engine.start()
            waiting = asyncio.gather(
                *(engine.complete(Prefix(f"q {i}"), [0, 1], PARAMS, seed=7) for i in range(30))
            )
            while sum(len(stub.bodies) for stub in stubs) < 30:  # noqa: ASYNC110 - no event to wait for
                await asyncio.sleep(0.01)
            lost = len(stubs[0].bodies)
            await stubs[0].die()
            found = await waiting
            await engine.close()
            return lost, found, engine.stats

    lost, found, stats = asyncio.run(main())
    assert lost > 0
    assert [len(f) for f in found] == [2] * 30
    assert stats.retries == lost
    assert [s["alive"] for s in stats.extra["servers"]] == [False, True, True]


def test_a_request_that_is_too_long_names_the_problem_and_is_not_repeated():
    stub = StubServer(context=80)
    with pytest.raises(EngineError, match=r"leaves no room.*What is 2") as caught:
        asyncio.run(ask(stub, prefix=Prefix("What is 2 + 3?", "x" * 80)))
    assert not caught.value.retryable
    assert not stub.bodies


def test_a_prefix_near_the_end_of_the_context_gets_what_is_left():
    stub = StubServer(context=80)
    found, _ = asyncio.run(ask(stub, prefix=Prefix("What is 2 + 3?", "x" * 30)))
    left = 80 - len(stub.prompts[0])
    assert stub.bodies[0]["max_tokens"] == left < 64
    assert found[0].finish_reason == "length"


def test_more_tokens_than_any_context_has_is_the_users_to_mend():
    with pytest.raises(UserError, match="`max_tokens` is 64"):
        asyncio.run(ask(StubServer(context=64)))


def test_a_refused_request_names_the_problem_with_the_servers_words():
    stub = StubServer(faults=deque([Fault(400, "no such thing as draws")]))
    with pytest.raises(EngineError, match=r"What is 2.*no such thing as draws") as caught:
        asyncio.run(ask(stub))
    assert not caught.value.retryable
    assert len(stub.bodies) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 405, 302])
def test_what_would_refuse_every_request_ends_the_run(status):
    stub = StubServer(faults=deque([Fault(status, "no")]))
    with pytest.raises(UserError, match=str(status)):
        asyncio.run(ask(stub))
    assert len(stub.bodies) == 1


def test_one_failing_part_of_a_call_ends_the_call():
    stub = StubServer(faults=deque([Fault(400, "no")]))
    with pytest.raises(EngineError, match="no"):
        asyncio.run(ask(stub, draws=(0, 2, 4)))

"""The engine against stub servers on loopback, whose answers are functions of prompt and seed."""

import asyncio
import itertools
import json
import logging
from collections import deque
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from stepmill.engines.base import ENGINES, Policy, Prefix
from stepmill.engines.server import ServerSettings
from stepmill.engines.server_engine import ServerEngine
from stepmill.engines.stub_server import Fault, StubServer, chat_text
from stepmill.errors import EngineDead, UserError
from stepmill.records import SamplingParams

KEY = "sk-secret-of-the-test"
PARAMS = SamplingParams(max_tokens=64)
QUESTION = "What is 2 + 3?"
CHAT = chat_text([{"role": "user", "content": QUESTION}])


def engine_for(*stubs: StubServer, **options) -> ServerEngine:
    options.setdefault("backoff", 0.01)
    urls = [stub.url for stub in stubs]
    return ServerEngine(ServerSettings.model_validate({"urls": urls, **options}), None)


@asynccontextmanager
async def opened(*stubs: StubServer, **options):
    """A started engine on started stubs."""
    async with AsyncExitStack() as stack:
        for stub in stubs:
            await stack.enter_async_context(stub)
        engine = engine_for(*stubs, **options)
        await engine.start()
        try:
            yield engine
        finally:
            await engine.close()


async def start_error(*stubs: StubServer, **options) -> str:
    with pytest.raises(UserError) as caught:
        async with opened(*stubs, **options):
            pass
    return str(caught.value)


def test_each_draw_comes_back_under_its_index_with_its_own_text():
    async def main():
        stub = StubServer()
        async with opened(stub) as engine:
            found = await engine.complete(Prefix(QUESTION), [0, 1, 2, 5], PARAMS, seed=7)
            return found, stub.bodies, engine.stats

    found, bodies, stats = asyncio.run(main())
    assert [c.draw for c in found] == [0, 1, 2, 5]
    assert len({c.text for c in found}) == 4
    assert [body["n"] for body in bodies] == [3, 1]
    assert all(c.token_ids == tuple(map(ord, c.text)) for c in found)
    assert all(c.n_tokens == len(c.text) and c.finish_reason == "stop" for c in found)
    assert all(c.prompt_tokens == len(CHAT) for c in found)
    assert (stats.requests, stats.completions, stats.in_flight) == (2, 4, 0)
    assert stats.generated_tokens == sum(len(c.text) for c in found)


def test_the_prompt_is_the_chat_template_and_the_prefix_to_the_letter():
    text = "Step 1:  two spaces\n\n\n\tünï \U0001f600 end \n\n"

    async def main():
        stub = StubServer()
        async with opened(stub) as engine:
            await engine.complete(Prefix(QUESTION, text), [0], PARAMS, seed=7)
            return stub

    stub = asyncio.run(main())
    assert stub.prompts == [CHAT + text]
    assert isinstance(stub.bodies[0]["prompt"], list)


def test_a_plain_prompt_gets_the_tokenizers_special_tokens_and_nothing_else():
    async def main():
        stub = StubServer()
        prompt = {"template": "plain", "text": "Q: {question}\nA:"}
        async with opened(stub, prompt=prompt) as engine:
            await engine.complete(Prefix(QUESTION, " 5"), [0], PARAMS, seed=7)
            return stub.prompts

    assert asyncio.run(main()) == [f"<s>Q: {QUESTION}\nA: 5"]


def test_all_that_decides_the_distribution_is_said_in_the_request():
    """A vLLM server fills what is missing from the model's generation_config.json."""
    params = SamplingParams(
        temperature=0.5, top_p=0.9, top_k=20, max_tokens=9, stop=("###",), logprobs=True
    )

    async def main():
        stub = StubServer()
        async with opened(stub) as engine:
            found = await engine.complete(Prefix(QUESTION), [0], params, seed=7)
            return found, stub.bodies[0]

    found, body = asyncio.run(main())
    sent = {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 20,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "max_tokens": 9,
        "stop": ["###"],
        "logprobs": 0,
    }
    assert body | sent == body
    assert found[0].finish_reason == "length"
    assert found[0].logprobs == (-0.5,) * 9


def test_seeds_differ_by_run_prefix_and_draw_and_are_the_same_again():
    async def main():
        stub = StubServer()
        async with opened(stub) as engine:
            for prefix, draw, seed in [("", 0, 7), ("", 1, 7), ("x", 0, 7), ("", 0, 8), ("", 0, 7)]:
                await engine.complete(Prefix(QUESTION, prefix), [draw], PARAMS, seed)
            return [body["seed"] for body in stub.bodies]

    seeds = asyncio.run(main())
    assert len(set(seeds)) == 4
    assert seeds[0] == seeds[4]


def test_seeds_can_be_left_out():
    async def main():
        stub = StubServer()
        async with opened(stub, seeds=False) as engine:
            await engine.complete(Prefix(QUESTION), [0], PARAMS, seed=7)
            return stub.bodies[0]

    assert "seed" not in asyncio.run(main())


def test_greedy_draws_are_asked_for_one_by_one():
    async def main():
        stub = StubServer()
        async with opened(stub) as engine:
            greedy = SamplingParams(temperature=0.0, max_tokens=64)
            await engine.complete(Prefix(QUESTION), [0, 1], greedy, seed=7)
            return [body["n"] for body in stub.bodies]

    assert asyncio.run(main()) == [1, 1]


def test_a_server_that_is_not_vllm_gets_plain_text_and_no_additions():
    async def main():
        stub = StubServer(vllm=False)
        async with opened(stub, prompt={"template": "plain", "text": "{question}\n"}) as engine:
            found = await engine.complete(Prefix(QUESTION, "a\n\n"), [0, 1], PARAMS, seed=7)
            return found, stub

    found, stub = asyncio.run(main())
    assert stub.prompts == [f"{QUESTION}\na\n\n"] * 2
    assert all(body["prompt"] == stub.prompts[0] and body["n"] == 1 for body in stub.bodies)
    assert not {"top_k", "min_p", "return_token_ids"} & stub.bodies[0].keys()
    assert [c.n_tokens for c in found] == [len(c.text) for c in found]
    assert found[0].token_ids is None


def test_a_server_that_is_not_vllm_cannot_have_a_chat_prompt():
    message = asyncio.run(start_error(StubServer(vllm=False)))
    assert "not a vLLM server" in message
    assert "template: plain" in message


def test_requests_that_share_a_question_go_to_one_server():
    async def main():
        stubs = [StubServer() for _ in range(3)]
        async with opened(*stubs) as engine:
            for i in range(12):
                for depth in range(3):
                    prefix = Prefix(f"question {i}", "step\n" * depth)
                    await engine.complete(prefix, [0], PARAMS, seed=7)
        return [{p.partition("</user>")[0] for p in stub.prompts} for stub in stubs]

    seen = asyncio.run(main())
    assert sum(map(len, seen)) == 12
    assert all(seen)


def test_draws_in_flight_at_one_server_stay_below_the_bound():
    async def main():
        stub = StubServer(latency=0.01)
        async with opened(stub, max_in_flight=8) as engine:
            prefixes = [Prefix(f"question {i}") for i in range(20)]
            found = await asyncio.gather(
                *(engine.complete(p, range(3), PARAMS, seed=7) for p in prefixes),
                engine.complete(Prefix("a large one"), range(20), PARAMS, seed=7),
            )
            return stub.most_in_flight, [len(f) for f in found]

    most, sizes = asyncio.run(main())
    assert most <= 8
    assert sizes == [3] * 20 + [20]


@pytest.mark.slow
def test_two_thousand_requests_at_a_time_all_complete():
    async def main():
        stub = StubServer(gate=2000)
        async with opened(stub, max_in_flight=2500) as engine:
            found = await asyncio.gather(
                *(engine.complete(Prefix(f"q {i}"), [0], PARAMS, seed=7) for i in range(2000))
            )
            return found, engine.stats

    found, stats = asyncio.run(main())
    assert len({c[0].text for c in found}) == 2000
    assert (stats.completions, stats.retries) == (2000, 0)


def test_a_servers_counters_of_its_prefix_cache_end_in_the_stats():
    async def main():
        stub = StubServer()
        stub.cached = 1000  # from clients before
        async with opened(stub) as engine:
            await engine.complete(Prefix(QUESTION), range(4), PARAMS, seed=7)
        return engine.stats.extra["prefix_cache"]

    assert asyncio.run(main()) == {"queries": 4 * len(CHAT), "hits": 3 * len(CHAT)}


def test_the_one_model_served_is_found():
    async def main():
        stub = StubServer(model="qwen", root="/data/models/Qwen2.5-7B")
        async with opened(stub) as engine:
            await engine.complete(Prefix(QUESTION), [0], PARAMS, seed=7)
            return engine.identity, stub.bodies[0]["model"]

    identity, asked = asyncio.run(main())
    assert asked == "qwen"
    assert (identity["model"], identity["root"]) == ("qwen", "Qwen2.5-7B")


def test_addresses_and_bounds_are_no_part_of_the_policy():
    async def fingerprint(n, **options):
        async with opened(*(StubServer() for _ in range(n)), **options) as engine:
            return Policy(engine, PARAMS).fingerprint

    async def main():
        plain = {"template": "plain"}
        return [
            await fingerprint(1),
            await fingerprint(2, max_in_flight=5, timeout=3),
            await fingerprint(1, prompt=plain),
        ]

    one, two, other_prompt = asyncio.run(main())
    assert one == two != other_prompt


def test_several_models_must_be_chosen_from():
    message = asyncio.run(start_error(StubServer(models=("stub", "adapter"))))
    assert "several models (stub, adapter)" in message


def test_a_wrong_name_is_answered_with_the_names_served():
    message = asyncio.run(start_error(StubServer(model="qwen-7b"), model="qwen-7"))
    assert "serves qwen-7b, not 'qwen-7'" in message
    assert "Did you mean 'qwen-7b'?" in message


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (StubServer(model="other"), "different names"),
        (StubServer(root="/models/other"), "loaded from different places"),
        (StubServer(context=500), "different lengths"),
    ],
)
def test_servers_that_differ_are_refused(other, what):
    assert what in asyncio.run(start_error(StubServer(), other))


def test_no_server_at_all_is_one_clear_message():
    async def main():
        stub = StubServer()
        async with stub:
            pass  # its port is free again
        engine = engine_for(stub)
        with pytest.raises(UserError) as caught:
            await engine.start()
        await engine.close()
        return stub.url, str(caught.value)

    url, message = asyncio.run(main())
    assert "no server answers" in message
    assert url in message
    assert "curl URL/health" in message


def test_a_server_that_is_down_at_the_start_joins_when_it_is_up():
    async def main():
        late, early = StubServer(), StubServer()
        async with late, early:
            await late.die()
            engine = engine_for(late, early)
            await engine.start()
            questions = [Prefix(f"question {i}") for i in range(12)]
            for prefix in questions:
                await engine.complete(prefix, [0], PARAMS, seed=7)
            before = len(late.bodies), len(early.bodies)
            await late.listen()
            draws = itertools.count(1)
            async with asyncio.timeout(20):
                while not late.bodies:
                    draw = next(draws)
                    for prefix in questions:
                        await engine.complete(prefix, [draw], PARAMS, seed=7)
            await engine.close()
            return before

    assert asyncio.run(main()) == (0, 12)


def test_another_model_in_a_dead_servers_place_is_not_used():
    async def main():
        stub = StubServer(faults=deque([Fault(how="reset")]))
        async with opened(stub, patience=0.2) as engine:
            stub.root = "/models/another"
            with pytest.raises(EngineDead, match="loaded from different places"):
                await engine.complete(Prefix(QUESTION), [0], PARAMS, seed=7)

    asyncio.run(main())


def test_a_refused_key_is_the_users_to_mend_and_never_shown():
    async def main():
        async with StubServer(key="another key") as stub:
            settings = ServerSettings(urls=(stub.url,))
            engine = ServerEngine(settings, KEY)
            with pytest.raises(UserError) as caught:
                await engine.start()
            return str(caught.value), repr(caught.value.__context__), repr(caught.value.__cause__)

    message, *rest = asyncio.run(main())
    assert "api_key_env" in message
    assert "<key>" in message
    assert KEY not in "".join([message, *rest])


def test_the_key_goes_into_requests_and_nowhere_else(monkeypatch, caplog):
    monkeypatch.setenv("STEPMILL_TEST_KEY", KEY)
    caplog.set_level(logging.DEBUG)

    async def main():
        async with StubServer(key=KEY) as stub:
            settings = ServerSettings(urls=(stub.url,), api_key_env="STEPMILL_TEST_KEY")
            engine = ENGINES["server"].open(settings)
            await engine.start()
            stub.faults.append(Fault(status=400, message=f"bad key {KEY}"))
            with pytest.raises(Exception, match="bad key <key>") as caught:
                await engine.complete(Prefix(QUESTION), [0], PARAMS, seed=7)
            await engine.close()
            return [
                json.dumps(engine.identity),
                settings.model_dump_json(),
                repr(settings),
                repr(engine),
                repr(engine.stats),
                repr(caught.value),
            ]

    for shown in [*asyncio.run(main()), caplog.text]:
        assert KEY not in shown


def test_an_engine_that_is_not_open_says_so():
    engine = ServerEngine(ServerSettings(urls=("http://127.0.0.1:1",)), None)
    with pytest.raises(EngineDead, match="not been started"):
        asyncio.run(engine.complete(Prefix(QUESTION), [0], PARAMS, seed=7))


def test_requests_in_flight_when_the_engine_closes_end_as_dead():
    async def main():
        stub = StubServer(gate=999)
        async with opened(stub, max_in_flight=2) as engine:
            asked = [engine.complete(Prefix(f"q {i}"), [0], PARAMS, seed=7) for i in range(4)]
            waiting = asyncio.gather(*asked, return_exceptions=True)
            while len(stub.bodies) < 2:  # noqa: ASYNC110 - no event to wait for
                await asyncio.sleep(0.01)
            await engine.close()
            return await waiting, engine.stats.in_flight

    found, left = asyncio.run(main())
    assert [type(error) for error in found] == [EngineDead] * 4
    assert left == 0

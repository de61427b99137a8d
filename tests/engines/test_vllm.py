"""A real model in real vLLM: the tiny policy that comes with the package, on the CPU."""

import asyncio
import re
from pathlib import Path

import pytest

from stepmill.engines import embedded
from stepmill.engines.base import ENGINES, Prefix
from stepmill.engines.vllm import VllmEngine, VllmSettings
from stepmill.errors import EngineDead, EngineError, UserError
from stepmill.records import SamplingParams

pytest.importorskip("vllm")
pytestmark = pytest.mark.slow
QUESTION = (
    "Mia has 12 apples. She buys 5 more. She gives away 3. She finds 4 more. "
    "How many apples does Mia have now?"
)
PROMPT = f"Question: {QUESTION}\nAnswer:\n"
PARAMS = SamplingParams(temperature=0.7, max_tokens=60)
HOT = SamplingParams(temperature=2.0, max_tokens=60)
"""As hot as vLLM allows: a policy that is sure of its answers still draws different texts."""


def open_engine(**options: object) -> VllmEngine:
    settings = {"model": str(embedded.MODELS / "tiny"), "prompt": {"template": "plain"}, **options}
    kind = ENGINES["vllm"]
    engine = kind.open(kind.settings.model_validate(settings))
    assert isinstance(engine, VllmEngine)
    return engine


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as loop:
        yield loop


@pytest.fixture(scope="module")
def engine(runner):
    engine = open_engine(max_model_len=512, max_num_seqs=64, cpu_threads=1)
    runner.run(engine.start())
    yield engine
    runner.run(engine.close())


@pytest.fixture
def draw(runner, engine):
    """Draw from the engine: `draw(text, draws, params, seed, token_ids)`."""

    def call(text="", draws=(0,), params=PARAMS, seed=0, token_ids=None, question=QUESTION):
        prefix = Prefix(question, text, token_ids)
        return runner.run(engine.complete(prefix, draws, params, seed))

    return call


@pytest.fixture
def sent(engine, monkeypatch):
    """What vLLM answers to, request by request: `vllm.RequestOutput`s, prompts and all."""
    outputs = []
    generate = engine._thread.generate

    async def spied(requests):
        found = await generate(requests)
        outputs.extend(found)
        return found

    monkeypatch.setattr(engine._thread, "generate", spied)
    return outputs


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(embedded.MODELS / "tiny")


def test_vllm_receives_prompt_and_prefix_verbatim(draw, sent, tokenizer):
    text = "Step 1: 12 + 5 = 17.\nStep 2:"
    draw(text)
    (output,) = sent
    assert tokenizer.decode(output.prompt_token_ids) == PROMPT + text
    prompt_ids = tokenizer.encode(PROMPT)
    assert output.prompt_token_ids[: len(prompt_ids)] == prompt_ids


def test_a_sampled_solution_is_continued_by_its_own_tokens(draw, sent, tokenizer):
    (solution,) = draw(params=SamplingParams(temperature=0.0, max_tokens=60))
    cut = solution.text.index("\n") + 1
    (rollout,) = draw(solution.text[:cut], token_ids=solution.token_ids)
    received = sent[-1].prompt_token_ids
    sampled = received[len(tokenizer.encode(PROMPT)) :]
    assert tuple(sampled) == solution.token_ids[: len(sampled)]
    assert tokenizer.decode(sampled) == solution.text[:cut]
    assert rollout.prompt_tokens == len(received)


def test_the_draws_of_a_prefix_are_one_request_and_differ(draw, sent):
    found = draw("Step 1:", range(8), HOT)
    assert len(sent) == 1
    assert [c.draw for c in found] == list(range(8))
    assert len({c.token_ids for c in found}) == 8


def test_indices_with_a_gap_come_back_as_asked(draw, sent):
    found = draw("Step 1:", [2, 3, 7])
    assert [c.draw for c in found] == [2, 3, 7]
    assert [len(output.outputs) for output in sent] == [2, 1]


def test_the_same_draws_repeat_and_another_seed_or_prefix_draws_anew(draw):
    first = [c.token_ids for c in draw(draws=range(4), params=HOT, seed=1)]
    assert [c.token_ids for c in draw(draws=range(4), params=HOT, seed=1)] == first
    assert [c.token_ids for c in draw(draws=range(4), params=HOT, seed=2)] != first
    assert [c.token_ids for c in draw(draws=range(4, 8), params=HOT, seed=1)] != first


def test_greedy_draws_are_all_the_same(draw):
    found = draw(draws=range(3), params=SamplingParams(temperature=0.0, max_tokens=60))
    assert len({c.text for c in found}) == 1
    assert [c.draw for c in found] == [0, 1, 2]


def test_a_stop_text_ends_a_completion_and_is_not_part_of_it(draw):
    (found,) = draw(params=SamplingParams(temperature=0.0, max_tokens=60, stop=("\n",)))
    assert found.finish_reason == "stop"
    assert found.text
    assert "\n" not in found.text


def test_a_guide_is_kept_to(draw):
    found = draw(draws=range(6), params=SamplingParams(max_tokens=60, guide="(yes|no), [0-9]{2}"))
    assert all(re.fullmatch("(yes|no), [0-9]{2}", c.text) for c in found)
    assert {c.finish_reason for c in found} == {"stop"}


def test_a_completion_cut_by_its_limit_says_so(draw):
    (found,) = draw(params=SamplingParams(max_tokens=3))
    assert found.finish_reason == "length"
    assert found.n_tokens == len(found.token_ids) == 3


def test_a_completion_cut_by_the_context_says_so(draw):
    endless = SamplingParams(max_tokens=1000, temperature=2.0)
    found = draw(question="many words " * 80, draws=range(4), params=endless)
    for completion in found:
        room = 512 - completion.prompt_tokens
        assert completion.n_tokens <= room
        assert (completion.finish_reason == "length") == (completion.n_tokens == room)


def test_there_is_a_log_probability_for_every_token(draw):
    plain, kept = (
        draw(params=SamplingParams(max_tokens=40, stop=(".",), logprobs=logprobs))[0]
        for logprobs in (False, True)
    )
    assert plain.logprobs is None
    assert kept.logprobs is not None
    assert len(kept.logprobs) == len(kept.token_ids) == kept.n_tokens
    assert all(p <= 0 for p in kept.logprobs)


def test_a_prefix_seen_before_comes_from_the_cache(draw, engine):
    question = "A question that no other test asks, long enough to fill a block or two. " * 2
    first = draw(question=question)
    before = engine.stats.cached_prompt_tokens
    second = draw(question=question, draws=(1,))
    assert first[0].cached_tokens == 0
    assert second[0].cached_tokens >= 32
    assert engine.stats.cached_prompt_tokens - before == second[0].cached_tokens


def test_the_counters_add_up(draw, engine):
    before = engine.stats.completions, engine.stats.generated_tokens, engine.stats.prompt_tokens
    found = draw("Step 1:", range(5))
    assert engine.stats.in_flight == 0
    assert engine.stats.completions - before[0] == 5
    assert engine.stats.generated_tokens - before[1] == sum(c.n_tokens for c in found)
    assert engine.stats.prompt_tokens - before[2] == sum(c.prompt_tokens for c in found)


def test_many_prefixes_are_in_work_at_once_and_the_loop_stays_free(runner, engine):
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    async def main():
        ticker = asyncio.create_task(tick())
        prefixes = [Prefix(QUESTION, f"Step 1: {i}") for i in range(40)]
        calls = (engine.complete(p, range(4), PARAMS, 0) for p in prefixes)
        found = await asyncio.gather(*calls)
        ticker.cancel()
        return found

    found = runner.run(main())
    assert sum(len(completions) for completions in found) == 160
    # vLLM takes a step per token: had it stepped in the loop, nothing else would have run
    assert ticks > 20


def test_a_prompt_longer_than_the_context_is_refused_for_good(draw, engine):
    with pytest.raises(EngineError, match="max_model_len") as error:
        draw(question="many words " * 600)
    assert not error.value.retryable
    assert not isinstance(error.value, EngineDead)
    assert engine.stats.in_flight == 0
    assert draw()[0].text


def test_sampling_that_vllm_refuses_is_the_users_to_mend(draw):
    with pytest.raises(UserError, match="top_p"):
        draw(params=SamplingParams(top_p=0.0))
    assert draw()[0].text


def test_a_cancelled_call_frees_its_places(runner, engine):
    async def main():
        endless = SamplingParams(temperature=2.0, max_tokens=450)
        call = asyncio.create_task(engine.complete(Prefix(QUESTION), range(64), endless, 0))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await engine.complete(Prefix(QUESTION), [0], PARAMS, 0)

    runner.run(main())
    assert engine.stats.in_flight == 0


def test_the_identity_names_weights_and_prompt_and_no_place_or_secret():
    identity = open_engine(engine_args={"hf_token": "hf_secret"}).identity
    assert identity["kind"] == "vllm"
    assert identity["model"] == "tiny"
    assert "secret" not in str(identity)
    assert str(Path.cwd()) not in str(identity)
    assert open_engine(prompt={"template": "chat"}).identity["prompt"] != identity["prompt"]


def test_a_name_that_is_no_model_is_the_users_to_mend(runner, monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    engine = open_engine(model="nobody/nothing")
    with pytest.raises(UserError, match="nobody/nothing") as error:
        runner.run(engine.start())
    assert "\n" not in str(error.value)
    with pytest.raises(EngineDead):
        runner.run(engine.complete(Prefix(QUESTION), [0], PARAMS, 0))


def test_an_unknown_engine_argument_is_the_users_to_mend(runner):
    with pytest.raises(UserError, match="no_such_argument"):
        runner.run(open_engine(engine_args={"no_such_argument": 1}).start())


def test_an_engine_that_was_not_started_says_so(runner):
    with pytest.raises(EngineDead, match="start"):
        runner.run(open_engine().complete(Prefix(QUESTION), [0], PARAMS, 0))


def test_settings_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match="max_tokens"):
        VllmSettings.model_validate({"model": "m", "max_tokens": 1})

"""The engine `server` against a real vLLM server: the tiny policy of the package, on the CPU."""

import asyncio
import re

import pytest

from stepmill.engines.base import Prefix
from stepmill.engines.server import ServerSettings
from stepmill.engines.server_engine import ServerEngine
from stepmill.errors import EngineError
from stepmill.records import SamplingParams

pytestmark = pytest.mark.slow

QUESTION = (
    "Mia has 12 apples. She buys 5 more. She gives away 3. She finds 4 more. "
    "How many apples does Mia have now?"
)
PROMPT = f"Question: {QUESTION}\nAnswer:\n"
PARAMS = SamplingParams(temperature=1.5, max_tokens=200)
"""Hot enough that a model which knows the answer still writes different texts."""
GREEDY = SamplingParams(temperature=0.0, max_tokens=200)


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as loop:
        yield loop


@pytest.fixture(scope="module")
def engine(runner, vllm_server):
    """With the chat template of the model, which writes `PROMPT`."""
    engine = ServerEngine(ServerSettings(urls=(vllm_server,)), None)
    runner.run(engine.start())
    yield engine
    runner.run(engine.close())


@pytest.fixture
def draw(runner, engine):
    """Draw from the server: `draw(text, draws, params, token_ids)`."""

    def call(text="", draws=(0,), params=PARAMS, token_ids=None, question=QUESTION):
        prefix = Prefix(question, text, token_ids)
        return runner.run(engine.complete(prefix, draws, params, 7))

    return call


def test_the_model_is_known_by_the_name_and_folder_it_is_served_from(engine):
    assert (engine.identity["model"], engine.identity["root"]) == ("tiny", "tiny")


def test_draws_of_a_question_differ_and_end_by_themselves(draw):
    found = draw(draws=range(16))
    assert len({c.text for c in found}) > 4
    assert {c.finish_reason for c in found} <= {"stop", "length"}
    assert any(c.finish_reason == "stop" for c in found)
    assert all(c.token_ids is not None and c.n_tokens == len(c.token_ids) for c in found)


def test_the_same_seed_writes_the_same_text_again(draw):
    assert [c.text for c in draw(draws=range(4))] == [c.text for c in draw(draws=range(4))]


@pytest.mark.parametrize("known", [True, False], ids=["sampled tokens", "text alone"])
def test_a_greedy_solution_is_continued_from_every_step_as_it_went_on(draw, known):
    whole = draw(params=GREEDY)[0]
    ids = whole.token_ids if known else None
    ends = [i + 1 for i, c in enumerate(whole.text) if c == "\n"]
    assert len(ends) > 1
    for end in ends:
        rest = draw(whole.text[:end], params=GREEDY, token_ids=ids)[0]
        assert whole.text[:end] + rest.text == whole.text


def test_the_chat_template_and_the_same_text_as_a_plain_prompt_are_one_prompt(
    draw, runner, vllm_server
):
    prompt = {"template": "plain", "text": "Question: {question}\nAnswer:\n"}
    settings = ServerSettings.model_validate({"urls": vllm_server, "prompt": prompt})
    plain = ServerEngine(settings, None)
    runner.run(plain.start())
    found = runner.run(plain.complete(Prefix(QUESTION), [0], GREEDY, 7))
    runner.run(plain.close())
    assert found == draw(params=GREEDY)


def test_logprobs_are_in_step_with_the_tokens(draw):
    params = SamplingParams(temperature=1.0, max_tokens=30, logprobs=True)
    for found in draw(draws=range(3), params=params):
        assert found.logprobs is not None
        assert len(found.logprobs) == found.n_tokens
        assert all(logprob <= 0 for logprob in found.logprobs)


def test_a_stop_text_ends_a_completion_and_is_no_part_of_it(draw):
    params = SamplingParams(temperature=0.0, max_tokens=200, stop=("Step 2",))
    found = draw(params=params)[0]
    assert found.finish_reason == "stop"
    assert found.text.endswith("\n")
    assert "Step 2" not in found.text


def test_a_guide_is_kept_to(draw):
    params = SamplingParams(max_tokens=60, guide="(yes|no), [0-9]{2}")
    assert all(
        re.fullmatch("(yes|no), [0-9]{2}", c.text) for c in draw(draws=range(6), params=params)
    )


def test_a_shared_prefix_comes_from_the_servers_cache(draw, runner, vllm_server):
    text = draw(params=GREEDY)[0].text
    prefix = Prefix(QUESTION, text[: text.rindex("Step")])
    other = ServerEngine(ServerSettings(urls=(vllm_server,)), None)
    runner.run(other.start())
    for draws in (range(8), range(8, 16)):
        found = runner.run(other.complete(prefix, draws, PARAMS, 7))
    runner.run(other.close())
    assert found[0].cached_tokens > 0
    assert other.stats.cached_prompt_tokens > 0
    assert other.stats.extra["prefix_cache"]["hits"] > 0


def test_many_questions_at_a_time_are_all_answered(runner, engine):
    prefixes = [Prefix(QUESTION.replace("12", str(n))) for n in range(10, 60)]

    async def main():
        return await asyncio.gather(*(engine.complete(p, range(4), PARAMS, 7) for p in prefixes))

    found = runner.run(main())
    assert [len(completions) for completions in found] == [4] * 50
    assert engine.stats.retries == 0


def test_a_prompt_longer_than_the_context_is_refused_by_name(draw):
    with pytest.raises(EngineError, match="leaves no room") as caught:
        draw(question="Mia has 12 apples. " * 200)
    assert not caught.value.retryable

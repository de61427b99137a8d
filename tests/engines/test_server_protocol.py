import pytest

from stepmill.engines.server_protocol import completions_from, sampling_body
from stepmill.errors import EngineError
from stepmill.records import SamplingParams


def choice(index: int, **more):
    return {"index": index, "text": f"text {index}", "finish_reason": "stop", **more}


def answer(*choices, prompt=10, generated=7, **usage):
    counts = {"prompt_tokens": prompt, "completion_tokens": generated, **usage}
    return {"choices": list(choices), "usage": counts}


def test_choices_are_joined_to_draws_by_their_index_not_by_their_place():
    found = completions_from(answer(choice(1), choice(0)), [4, 5])
    assert [(c.draw, c.text) for c in found] == [(4, "text 0"), (5, "text 1")]


def test_tokens_without_ids_are_shared_out_and_their_sum_is_right():
    found = completions_from(answer(choice(0), choice(1), choice(2), generated=8), [0, 1, 2])
    assert [c.n_tokens for c in found] == [3, 3, 2]


@pytest.mark.parametrize("reason", ["content_filter", "repetition", None])
def test_an_end_that_says_nothing_of_the_answer_is_an_abort(reason):
    found = completions_from(answer(choice(0, finish_reason=reason)), [0])
    assert found[0].finish_reason == "abort"


def test_cached_tokens_are_unknown_unless_the_server_tells():
    silent = answer(choice(0), prompt_tokens_details=None)
    telling = answer(choice(0), prompt_tokens_details={"cached_tokens": 8})
    assert completions_from(silent, [0])[0].cached_tokens is None
    assert completions_from(telling, [0])[0].cached_tokens == 8


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {"choices": []},
        answer(choice(0), choice(1)),
        {"choices": [{"index": 0}], "usage": {"completion_tokens": 1}},
        {"choices": [choice(0)]},
    ],
)
def test_an_answer_of_another_form_is_an_error_and_no_completion(wrong):
    with pytest.raises(EngineError):
        completions_from(wrong, [0])


def test_a_server_that_is_not_vllm_is_asked_for_nothing_it_may_not_know():
    body = sampling_body(SamplingParams(logprobs=True), vllm=False)
    assert set(body) == {
        "temperature",
        "top_p",
        "max_tokens",
        "presence_penalty",
        "frequency_penalty",
        "logprobs",
    }
    assert sampling_body(SamplingParams(top_k=5), vllm=False)["top_k"] == 5


def test_a_guide_is_sent_to_vllm_alone():
    params = SamplingParams(guide="[0-9]")
    assert sampling_body(params, vllm=True)["structured_outputs"] == {"regex": "[0-9]"}
    assert "structured_outputs" not in sampling_body(params, vllm=False)
    assert "structured_outputs" not in sampling_body(SamplingParams(), vllm=True)

"""OpenAI's completions protocol, with vLLM's additions: a request's body, an answer's completions.

Pure functions. Source: https://platform.openai.com/docs/api-reference/completions, and
`vllm/entrypoints/openai/completion/protocol.py` of vLLM 0.32.
"""

from collections.abc import Sequence
from typing import Any

from stepmill.errors import EngineError
from stepmill.records import Completion, SamplingParams

_FINISH = {"stop": "stop", "length": "length"}
"""Reasons to end that say something of the answer; all others are an `abort`."""
_NEUTRAL = {"min_p": 0.0, "repetition_penalty": 1.0}
"""A vLLM server takes what a request leaves out from the model's `generation_config.json`; the
policy's fingerprint would not know of it."""


def sampling_body(params: SamplingParams, *, vllm: bool) -> dict[str, Any]:
    """The part of a request that is the same for all draws of a policy.

    Args:
        params: how to draw.
        vllm: whether the server knows vLLM's additions. Others may refuse them, so they get
            `top_k` only when it is set.
    """
    body: dict[str, Any] = {
        "temperature": params.temperature,
        "top_p": params.top_p,
        "max_tokens": params.max_tokens,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
    }
    if params.stop:
        body["stop"] = list(params.stop)
    if vllm or params.top_k:
        body["top_k"] = params.top_k
    if vllm:
        body |= _NEUTRAL | {"return_token_ids": True}
        if params.guide:
            body["structured_outputs"] = {"regex": params.guide}
    if params.logprobs:
        body["logprobs"] = 0 if vllm else 1  # 0: of the token drawn, and no others
    return body


def completions_from(answer: Any, draws: Sequence[int]) -> list[Completion]:  # noqa: ANN401 - JSON
    """The completions of an answer, in the order of `draws`.

    Where the server returns no token ids, the tokens it counted for the whole request are shared
    out evenly over its draws.

    Raises:
        EngineError: the answer does not have the protocol's form, or not one choice per draw.
    """
    try:
        choices = sorted(answer["choices"], key=lambda choice: int(choice["index"]))
        usage = answer["usage"]
        if len(choices) != len(draws):
            raise EngineError(f"the server sent {len(choices)} completions of {len(draws)}")
        even, more = divmod(int(usage["completion_tokens"]), len(draws))
        return [
            _completion(choice, draw, usage, even + (i < more))
            for i, (choice, draw) in enumerate(zip(choices, draws, strict=True))
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EngineError(
            f"the server's answer is not of OpenAI's completions protocol: {error!r}"
        ) from error


def _completion(
    choice: dict[str, Any], draw: int, usage: dict[str, Any], n_tokens: int
) -> Completion:
    ids = choice.get("token_ids")
    logprobs = (choice.get("logprobs") or {}).get("token_logprobs")
    return Completion(
        text=str(choice["text"]),
        finish_reason=_FINISH.get(choice["finish_reason"], "abort"),
        n_tokens=n_tokens if ids is None else len(ids),
        draw=draw,
        token_ids=None if ids is None else tuple(ids),
        logprobs=None if logprobs is None else tuple(logprobs),
        # of the request's draw that ended last, the only one vLLM tells
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
        prompt_tokens=int(usage["prompt_tokens"]),
    )

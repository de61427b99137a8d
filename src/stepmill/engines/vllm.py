"""The engine `vllm`: a model run by vLLM inside this process.

Token ids go in and come out. The draws of one prefix are one request with `n`, so that they share
its prompt; prefixes of one solution nest, and vLLM's prefix cache serves the rest. Loading is in
`vllm_start`, the thread that steps vLLM in `vllm_thread`, prompts in `prompts` and `tokens`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from stepmill.engines.base import (
    ENGINES,
    EngineKind,
    EngineStats,
    Policy,
    Prefix,
    draw_seed,
)
from stepmill.engines.draws import draw_groups
from stepmill.engines.prompts import ChatPrompt, PromptSettings, prompt_id
from stepmill.engines.tokens import PrefixTokens
from stepmill.engines.vllm_errors import is_refusal
from stepmill.engines.vllm_start import close_llm_engine, open_llm_engine
from stepmill.engines.vllm_thread import EngineThread
from stepmill.engines.weights import model_identity
from stepmill.errors import EngineDead, EngineError, UserError
from stepmill.records import Completion, SamplingParams
from stepmill.settings import Settings

_FINISH = {"stop": "stop", "length": "length"}
"""vLLM's reasons to end; all others (`abort`, `repetition`) say nothing of the answer."""
_NOT_IDENTITY = frozenset(
    {"hf_token", "download_dir", "kv_cache_memory_bytes", "max_num_batched_tokens", "block_size"}
)
"""Engine arguments that a user may change between runs: the model stays the same."""


class VllmSettings(Settings):
    """A model that vLLM runs in this process, on the GPUs of this machine or on its CPU."""

    model: str
    """A folder in the Hugging Face format, or a name on the Hub."""
    revision: str | None = None
    """Branch, tag or commit on the Hub; `main` when left out."""
    prompt: PromptSettings = ChatPrompt()
    """How a question becomes a prompt; the model's chat template by default."""
    dtype: str = "auto"
    """Type of the weights at work: `auto` is the model's own, on a CPU float32."""
    max_model_len: int | None = Field(default=None, ge=1)
    """Context in tokens, prompt and completion together; the model's own when left out."""
    max_num_seqs: int | None = Field(default=None, ge=1)
    """Sequences in one batch; vLLM's default when left out."""
    gpu_memory_utilization: float | None = Field(default=None, gt=0, le=1)
    """Share of the device's memory to take; vLLM's default when left out."""
    tensor_parallel_size: int = Field(default=1, ge=1)
    """GPUs that share one copy of the model."""
    cpu_threads: int | None = Field(default=None, ge=1)
    """Threads on a CPU: all cores but one when left out; OMP_NUM_THREADS wins over both."""
    engine_args: dict[str, Any] = Field(default_factory=dict)
    """More of vLLM's engine arguments, by their names in Python; they win over all above."""


class VllmEngine:
    """Runs a model through vLLM.

    Args:
        settings: model, prompt and engine arguments.
        identity: kind and weights; see `Engine.identity`. The rest is added from `settings`.
        locate: returns the folder or name that vLLM loads; `start` calls it, outside of the loop's
            thread.
    """

    simulated = False

    def __init__(
        self, settings: VllmSettings, identity: dict[str, Any], locate: Callable[[], str]
    ) -> None:
        self.identity: dict[str, Any] = {
            **identity,
            "prompt": prompt_id(settings.prompt),
            "dtype": settings.dtype,
            "engine_args": {
                k: v for k, v in settings.engine_args.items() if k not in _NOT_IDENTITY
            },
        }
        self.stats = EngineStats()
        self._settings = settings
        self._locate = locate
        self._thread: EngineThread | None = None

    async def start(self) -> None:
        """Load the model.

        Raises:
            UserError: vLLM is missing, or cannot run the model or render its prompt.
        """
        thread = EngineThread(self._open, close_llm_engine)
        llm = await thread.start()
        try:
            self._tokens = PrefixTokens(self._settings.prompt, llm.get_tokenizer())
        except UserError:
            await thread.close()
            raise
        self._max_len: int = llm.vllm_config.model_config.max_model_len
        self._thread = thread
        if "revision" in self.identity:  # the download has told which commit it is
            self.identity |= model_identity(self._settings.model, self._settings.revision)

    def _open(self) -> Any:  # noqa: ANN401 - vLLM's own type
        return open_llm_engine(self._settings, self._locate())

    async def complete(
        self, prefix: Prefix, draws: Sequence[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        """See `Engine.complete`.

        One request serves the draws whose indices follow one another: its first has the seed
        `draw_seed` gives it, and vLLM counts up from there for the others.

        Log-probabilities are those of the model's own distribution, before temperature and top-p.
        """
        if self._thread is None:
            raise EngineDead("the engine is not running; `start` it first")
        token_ids = self._tokens.ids(prefix)
        if len(token_ids) >= self._max_len:
            raise EngineError(
                f"a prompt of {len(token_ids)} tokens leaves no room in a context of "
                f"{self._max_len} (`max_model_len`): raise it, or leave out the problem "
                f"{prefix.question[:60]!r}"
            )
        policy = Policy(self, params).fingerprint
        # vLLM allows no `n` without sampling.
        groups = draw_groups(draws, together=params.temperature > 0)
        requests = [
            (
                {"prompt_token_ids": list(token_ids)},
                _sampling(params, len(group), draw_seed(seed, policy, prefix.key, group[0])),
            )
            for group in groups
        ]
        self.stats.requests += len(requests)
        self.stats.in_flight += len(draws)
        try:
            outputs = await self._thread.generate(requests)
        finally:
            self.stats.in_flight -= len(draws)
        found = [
            replace(completion, draw=draw)
            for group, output in zip(groups, outputs, strict=True)
            for draw, completion in zip(group, _completions(output), strict=True)
        ]
        self._count(found)
        return found

    async def close(self) -> None:
        """Stop vLLM and free its memory; requests in flight raise EngineDead."""
        if self._thread is not None:
            await self._thread.close()

    def _count(self, completions: Sequence[Completion]) -> None:
        self.stats.completions += len(completions)
        for completion in completions:
            self.stats.prompt_tokens += completion.prompt_tokens
            self.stats.cached_prompt_tokens += completion.cached_tokens or 0
            self.stats.generated_tokens += completion.n_tokens


def _sampling(params: SamplingParams, n: int, seed: int) -> Any:  # noqa: ANN401 - vLLM's own type
    from vllm import SamplingParams as VllmSamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    try:
        return VllmSamplingParams(
            n=n,
            seed=seed,
            temperature=params.temperature,
            top_p=params.top_p,
            top_k=params.top_k,
            max_tokens=params.max_tokens,
            stop=list(params.stop),
            logprobs=0 if params.logprobs else None,  # 0: of the token drawn, and no others
            structured_outputs=StructuredOutputsParams(regex=params.guide)
            if params.guide
            else None,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
    except Exception as error:
        if not is_refusal(error):
            raise
        raise UserError(f"vLLM refuses the sampling settings: {error}") from error


def _completions(output: Any) -> list[Completion]:  # noqa: ANN401 - vllm.RequestOutput
    """The answers to one request, in order.

    Raises:
        EngineError: vLLM failed inside; asking again may help.
    """
    completions = []
    for choice in output.outputs:
        if choice.finish_reason == "error":
            raise EngineError("vLLM failed on a request", retryable=True)
        logprobs = None
        if choice.logprobs is not None:
            logprobs = tuple(
                step[token].logprob
                for step, token in zip(choice.logprobs, choice.token_ids, strict=True)
            )
        completions.append(
            Completion(
                text=choice.text,
                finish_reason=_FINISH.get(choice.finish_reason, "abort"),
                n_tokens=len(choice.token_ids),
                token_ids=tuple(choice.token_ids),
                logprobs=logprobs,
                # of the request's draw that ended last, the only one vLLM tells
                cached_tokens=output.num_cached_tokens,
                prompt_tokens=len(output.prompt_token_ids),
            )
        )
    return completions


def _open(settings: VllmSettings) -> VllmEngine:
    identity = {"kind": "vllm", **model_identity(settings.model, settings.revision)}
    return VllmEngine(settings, identity, lambda: settings.model)


ENGINES.register("vllm")(
    EngineKind(
        VllmSettings,
        _open,
        operational=frozenset(
            {"max_num_seqs", "gpu_memory_utilization", "tensor_parallel_size", "cpu_threads"}
        ),
    )
)

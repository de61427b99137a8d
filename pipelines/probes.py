"""Trying out whether something on this machine works, from outside and with a time limit.

What may hang, crash or take a GPU runs in a process of its own. Knows none of the things tried;
`doctor` lists them.
"""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib import util
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one part."""

    name: str
    status: Literal["ok", "missing", "broken"]
    """`missing`: not there, and only some work needs it. `broken`: there, and it does not work."""
    detail: str
    how: str = ""
    """How to get or mend it; empty when nothing needs to be done."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A package, and code that prints one line of detail if the package works."""

    name: str
    module: str
    code: str
    how: str
    timeout: float = 60
    """Seconds; a first import on a busy machine is slow."""


def run_probe(probe: Probe) -> Finding:
    """Try a package in a Python of its own."""
    if util.find_spec(probe.module) is None:
        return Finding(probe.name, "missing", "not installed", probe.how)
    quiet = {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"}
    return run_command(
        probe.name,
        [sys.executable, "-P", "-W", "ignore", "-c", probe.code],  # -P: no module of this folder
        f"reinstall it: {probe.how}",
        timeout=probe.timeout,
        env={**os.environ, **quiet},
        last_line=True,
    )


def run_command(
    name: str,
    command: list[str],
    how: str,
    *,
    timeout: float = 30,
    env: dict[str, str] | None = None,
    last_line: bool = False,
) -> Finding:
    """Finding of a command that prints its detail. A failure's last line of output says why.

    Args:
        name: of the finding.
        command: its output is the detail.
        how: to mend it when it fails.
        timeout: seconds until it counts as broken.
        env: its environment; None for ours.
        last_line: take only the last line, since others may be chatter.
    """
    try:
        run = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env=env,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finding(name, "broken", f"no answer in {timeout:.0f} s", how)
    except OSError as error:
        return Finding(name, "broken", str(error), how)
    lines = run.stdout.strip().splitlines()
    if run.returncode == 0:
        return Finding(name, "ok", "; ".join(lines[-1:] if last_line else lines))
    lines += run.stderr.strip().splitlines()
    if run.returncode < 0:
        lines.append(f"ended by signal {-run.returncode}, {signal.strsignal(-run.returncode)}")
    return Finding(name, "broken", lines[-1] if lines else f"exit code {run.returncode}", how)

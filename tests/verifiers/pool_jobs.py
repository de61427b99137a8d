"""Jobs for the tests of the worker pool; a job is a list of a name and arguments."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def build(options):
    if options == "broken":
        raise RuntimeError("no such table")

    def work(job):
        name, *arguments = job
        return JOBS[name](*arguments)

    return work


def _double(n):
    return 2 * n


def _pid(_):
    return os.getpid()


def _forever():
    while True:
        pass


def _allocate():
    return len(bytearray(8 << 30))


def _die():
    os._exit(3)


def _child_then_forever(path):
    """Leave a child behind, with its process id in a file, and never return."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(path).write_text(str(child.pid))
    time.sleep(600)


def _count(path):
    """How often this job was really done."""
    with Path(path).open("a") as file:
        file.write("x")
    time.sleep(0.3)
    return Path(path).stat().st_size


def _recurse():
    return _recurse()


def _divide(a, b):
    return a / b


JOBS: dict[str, Any] = {
    "double": _double, "pid": _pid, "forever": _forever, "allocate": _allocate, "die": _die,
    "child": _child_then_forever, "count": _count, "recurse": _recurse, "divide": _divide,
}  # fmt: skip

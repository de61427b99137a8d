"""The child's side of a worker pool: takes jobs from a pipe, answers each, and ends with the pipe.

The pool's supervisor starts this file by its path, as a script of its own. Nothing of the program
that made the pool runs again in the child, so a pool works from a notebook, a test, a flow or a
thread alike. Messages are JSON: a worker that went wrong cannot make its parent unpickle anything.
Only the standard library is imported before the parent's import path is known.
"""

import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

_BACKSTOP_S = 5.0
"""Added to twice the time limit before the kernel ends a worker whose parent did not: the parent
is gone, and the worker too busy to see the closed pipe."""

_LOOK_ROUND_S = 10.0
"""How often an idle worker looks whether its parent is there."""


def main(descriptor: int) -> None:
    """Serve the pipe with this file descriptor until it closes."""
    pipe = Connection(descriptor)
    try:
        start = json.loads(pipe.recv_bytes())
    except EOFError:
        return
    try:
        work = _prepare(start)
    except MemoryError:
        _send(pipe, {"failed": f"it needs more memory than its {start['memory_mb']} MiB"})
        return
    except Exception as error:  # noqa: BLE001 - reported to the parent, which cannot see stderr
        _send(pipe, {"failed": f"{type(error).__name__}: {error}"})
        return
    _send(pipe, {"ready": os.getpid()})
    backstop = 2 * start["time_limit_s"] + _BACKSTOP_S
    while True:
        job = _next_job(pipe, start["parent"])
        if job is None:
            return
        signal.setitimer(signal.ITIMER_REAL, backstop)
        reply = _answer(work, job)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(pipe, reply)
        if reply.get("unknown") == "memory":
            return  # what is left of the heap is not to be trusted


def _next_job(pipe: Connection, parent: int) -> bytes | None:
    """The next job; None when the parent is gone.

    That is seen by the closed pipe or, where a fork of the parent still holds its end, by our
    having another parent.
    """
    try:
        while not pipe.poll(_LOOK_ROUND_S):
            if os.getppid() != parent:
                return None
        return pipe.recv_bytes()
    except (EOFError, OSError):
        return None


def _prepare(start: dict[str, Any]) -> Callable[[Any], Any]:
    """Set the limits, then build the function that works, from its entry `module:factory`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit = start["memory_mb"] << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    sys.path[:] = start["path"]
    module, _, name = start["entry"].partition(":")
    factory = getattr(importlib.import_module(module), name)
    work: Callable[[Any], Any] = factory(start["options"])
    return work


def _answer(work: Callable[[Any], Any], job: bytes) -> dict[str, Any]:
    try:
        return {"result": work(json.loads(job))}
    except MemoryError:
        return {"unknown": "memory"}
    except RecursionError:
        return {"unknown": "too-large"}
    except Exception as error:  # noqa: BLE001 - one job's failure must not end the worker
        return {"unknown": f"error:{type(error).__name__}"}


def _send(pipe: Connection, message: dict[str, Any]) -> None:
    try:
        pipe.send_bytes(json.dumps(message).encode())
    except (BrokenPipeError, ConnectionResetError):
        sys.exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""Worker processes that can be killed: for checks that may take for ever, or all the memory.

Every worker is a fresh interpreter (worker.py) with one pipe, a memory limit and a process group of
its own. The deadline of a job is kept here, in the parent, and kept by SIGKILL: what does not
return in time is `unknown`, and no other job notices. One spare worker stands by, since starting
one takes longer than a job. A thread of the pool does all the waiting, so the pool can be used from
any thread and any event loop.

`ProcessPoolExecutor` is not used: it cannot kill one worker, and a dead worker breaks it.
"""

import asyncio
import json
import os
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from stepmill.errors import StepmillError
from stepmill.verifiers.supervisor import Job, PoolStats, Supervisor, Unknown

__all__ = ["PoolStats", "Unknown", "WorkerPool"]


class WorkerPool:
    """Runs one function in worker processes, with a hard limit on time and memory per job.

    Args:
        entry: `module:factory`; the factory is called once in each worker with `options` and
            returns the function that is called with each job.
        options: plain JSON values.
        workers: jobs in work at a time.
        time_limit_s: of one job, from when a worker takes it.
        memory_mb: address space of one worker, what it imports included.
        recycle_after: jobs after which a worker is replaced, against slow leaks.
        cache_size: results kept, the least recently used ones leave.
        version: of what the workers compute; part of the key of the cache.
    """

    def __init__(
        self,
        entry: str,
        options: Any = None,  # noqa: ANN401 - JSON
        *,
        workers: int = 2,
        time_limit_s: float = 5.0,
        memory_mb: int = 2048,
        recycle_after: int = 2000,
        cache_size: int = 10_000,
        version: str = "",
    ) -> None:
        start = {
            "entry": entry,
            "options": options,
            "path": [str(Path(p).absolute()) for p in sys.path],
            "time_limit_s": time_limit_s,
            "memory_mb": memory_mb,
            "parent": os.getpid(),
        }
        self.version = version
        self._cache_size = cache_size
        self._supervisor = Supervisor(
            json.dumps(start).encode(), workers, time_limit_s, recycle_after
        )
        self._cache: OrderedDict[tuple[str, bytes], Any] = OrderedDict()
        self._waiting: dict[tuple[str, bytes], Future[Any]] = {}
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._finalizer = weakref.finalize(self, self._supervisor.stop)  # also at exit

    @property
    def stats(self) -> PoolStats:
        """Counters, live."""
        return self._supervisor.stats

    async def submit(self, job: Any) -> Any:  # noqa: ANN401 - JSON
        """The function's result for a job of JSON values, or `Unknown`.

        A job that is being worked on is not started twice.

        Raises:
            UserError: no worker can be started.
        """
        # shielded: others may wait for the same job
        return await asyncio.shield(asyncio.wrap_future(self._enqueue(job)))

    def map(self, jobs: Iterable[Any]) -> list[Any]:
        """Results of many jobs, in their order, for callers without an event loop."""
        return [future.result() for future in [self._enqueue(job) for job in jobs]]

    def _enqueue(self, job: Any) -> "Future[Any]":  # noqa: ANN401
        if os.getpid() != self._pid:
            raise StepmillError("a worker pool cannot be used in a forked process; make a new one")
        payload = json.dumps(job, sort_keys=True).encode()
        key = (self.version, payload)
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                self.stats.cached += 1
                answered: Future[Any] = Future()
                answered.set_result(self._cache[key])
                return answered
            if key in self._waiting:
                return self._waiting[key]
            future: Future[Any] = Future()
            future.set_running_or_notify_cancel()  # nobody can cancel what others wait for
            self._waiting[key] = future
        future.add_done_callback(lambda done: self._remember(key, done))
        self._supervisor.add(Job(payload, future))
        return future

    def _remember(self, key: tuple[str, bytes], done: "Future[Any]") -> None:
        with self._lock:
            self._waiting.pop(key, None)
            if done.exception() is not None:
                return
            result = done.result()
            if isinstance(result, Unknown) and result.reason in ("worker-died", "closed"):
                return  # says nothing of the job
            self._cache[key] = result
            while len(self._cache) > self._cache_size:
                self._cache.popitem(last=False)

    def close(self) -> None:
        """Kill all workers; jobs not done become `Unknown("closed")`. May be called twice."""
        self._finalizer()

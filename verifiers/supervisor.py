"""Starts, feeds, hears and kills the workers of a pool, in a thread of its own.

The pool (pool.py) hands jobs over from any thread; here each goes to a free worker, its deadline is
watched, and what became of it is put into its future. A worker that is killed or dies is replaced
by the spare, which has done its imports already.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from socket import socketpair
from typing import Any

from stepmill.errors import UserError

_START_LIMIT_S = 120.0
"""Longest time for a worker to import what it needs, on a busy machine."""
_START_DEATHS = 3
"""Workers that die in a row before one of them was ready, before the pool gives up."""
_WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True)
class Unknown:
    """What a job gives that was not answered."""

    reason: str
    """`time-out`, `memory`, `worker-died`, `too-large`, `closed`, or `error:` with the name of an
    exception."""


@dataclass(slots=True)
class PoolStats:
    """Counters since the pool was made."""

    done: int = 0
    cached: int = 0
    """Jobs answered without a worker."""
    started: int = 0
    """Worker processes."""
    killed: int = 0
    """Workers that were killed over a deadline."""
    died: int = 0
    """Workers that ended by themselves in the middle of a job."""


@dataclass(slots=True)
class Job:
    """A job on its way, with the place for its result."""

    payload: bytes
    """JSON."""
    future: "Future[Any]"


@dataclass(slots=True, eq=False)
class _Worker:
    process: "subprocess.Popen[bytes]"
    pipe: Connection
    deadline: float
    """On the monotonic clock: of the start, or of the job in work."""
    ready: bool = False
    job: Job | None = None
    n_done: int = 0


@dataclass(slots=True)
class Supervisor:
    """The thread that starts, feeds, hears and kills the workers."""

    start_message: bytes
    """What every worker is told first (worker.py)."""
    limit: int
    """Jobs in work at a time."""
    time_limit_s: float
    recycle_after: int
    """Jobs after which a worker is replaced."""
    stats: PoolStats = field(default_factory=PoolStats)
    _queue: "deque[Job]" = field(default_factory=deque)
    _workers: list[_Worker] = field(default_factory=list)
    _thread: threading.Thread | None = None
    _wake: tuple[int, int] | None = None
    """Read and write end of the pipe that interrupts the waiting."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopping: bool = False
    _deaths: int = 0
    """Workers in a row that ended before they were ready."""
    _broken: str = ""
    """Why no worker can be started."""

    def add(self, job: Job) -> None:
        """Take a job from any thread."""
        with self._lock:
            if self._stopping:
                job.future.set_result(Unknown("closed"))
                return
            self._queue.append(job)
            if self._thread is None:
                self._wake = os.pipe()
                for end in self._wake:
                    os.set_blocking(end, False)
                self._thread = threading.Thread(
                    target=self._run, name="stepmill-worker-pool", daemon=True
                )
                self._thread.start()
            self._interrupt()

    def stop(self) -> None:
        """End the thread and every worker."""
        with self._lock:
            self._stopping = True
            thread = self._thread
            self._interrupt()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _interrupt(self) -> None:
        if self._wake is not None:
            with suppress(BlockingIOError):  # full: it is awake already
                os.write(self._wake[1], b"!")

    def _run(self) -> None:
        assert self._wake is not None  # set before the thread starts
        try:
            while not self._stopping:
                self._staff()
                self._dispatch()
                self._listen(self._wake[0])
                self._end_overdue()
        finally:
            self._shut_down()

    def _staff(self) -> None:
        """Start what is missing: one worker per job that could be in work, and a spare."""
        if self._broken:
            if not self._workers:
                self._break(self._broken)
            return
        busy = sum(w.job is not None for w in self._workers)
        wanted = min(self.limit, busy + len(self._queue)) + 1
        while len(self._workers) < wanted:
            self._workers.append(self._start())

    def _start(self) -> _Worker:
        ours, theirs = socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", str(_WORKER), str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # its own group; a terminal's Ctrl-C is for the parent
            )
        self.stats.started += 1
        pipe = Connection(ours.detach())
        with suppress(BrokenPipeError, ConnectionResetError):
            pipe.send_bytes(self.start_message)
        return _Worker(process, pipe, time.monotonic() + _START_LIMIT_S)

    def _dispatch(self) -> None:
        busy = sum(w.job is not None for w in self._workers)
        for worker in [w for w in self._workers if w.ready and w.job is None]:
            if busy >= self.limit or not self._queue:
                return
            worker.job = self._queue.popleft()
            worker.deadline = time.monotonic() + self.time_limit_s
            busy += 1
            try:
                worker.pipe.send_bytes(worker.job.payload)
            except (BrokenPipeError, ConnectionResetError):
                self._lose(worker)

    def _listen(self, wake: int) -> None:
        waited_for = [w.deadline for w in self._workers if w.job is not None or not w.ready]
        timeout = max(0.0, min(waited_for) - time.monotonic()) if waited_for else None
        pipes = {w.pipe: w for w in self._workers}
        for source in wait([wake, *pipes], timeout):
            if source == wake:
                with suppress(BlockingIOError):
                    os.read(wake, 4096)
            elif isinstance(source, Connection):
                self._hear(pipes[source])

    def _hear(self, worker: _Worker) -> None:
        try:
            message = json.loads(worker.pipe.recv_bytes())
        except (EOFError, OSError):
            self._lose(worker)
            return
        if "failed" in message:
            self._break(f"a worker could not start: {message['failed']}")
            self._discard(worker)
        elif "ready" in message:
            worker.ready, self._deaths = True, 0
        else:
            self._finish(worker, message)

    def _finish(self, worker: _Worker, message: dict[str, Any]) -> None:
        job, worker.job = worker.job, None
        worker.n_done += 1
        unknown = message.get("unknown")
        if worker.n_done >= self.recycle_after or unknown == "memory":
            self._discard(worker)
        self.stats.done += 1
        if job is not None:
            job.future.set_result(message["result"] if unknown is None else Unknown(unknown))

    def _lose(self, worker: _Worker) -> None:
        """A worker is gone that nobody ended."""
        self._discard(worker)
        if worker.job is not None:
            self.stats.died += 1
            worker.job.future.set_result(Unknown("worker-died"))
        elif not worker.ready:
            self._deaths += 1
            if self._deaths >= _START_DEATHS:
                self._break(
                    f"{self._deaths} workers died while they started;"
                    " is their memory limit too low for what they import?"
                )

    def _end_overdue(self) -> None:
        now = time.monotonic()
        for worker in [w for w in self._workers if w.deadline <= now]:
            if worker.job is not None:
                self._discard(worker)
                self.stats.killed += 1
                worker.job.future.set_result(Unknown("time-out"))
            elif not worker.ready:
                self._lose(worker)

    def _discard(self, worker: _Worker) -> None:
        """Kill a worker with all that it started."""
        self._workers.remove(worker)
        with suppress(ProcessLookupError):
            os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
        worker.pipe.close()

    def _break(self, reason: str) -> None:
        self._broken = self._broken or reason
        while self._queue:
            self._queue.popleft().future.set_exception(UserError(self._broken))

    def _shut_down(self) -> None:
        with self._lock:
            self._stopping = True
        for worker in list(self._workers):
            self._discard(worker)
            if worker.job is not None:
                worker.job.future.set_result(Unknown("closed"))
        while self._queue:
            self._queue.popleft().future.set_result(Unknown("closed"))
        with self._lock:
            for end in self._wake or ():
                os.close(end)
            self._wake = None

"""The worker pool: limits that hold, failures that stay with their job, nothing left behind."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stepmill.errors import StepmillError, UserError
from stepmill.verifiers.pool import Unknown, WorkerPool

HERE = Path(__file__).parent
SCRIPT = """
import json, sys
sys.path.insert(0, {here!r})
from stepmill.verifiers.pool import WorkerPool
pool = WorkerPool("pool_jobs:build", workers=2)
print(json.dumps(pool.map([["double", 4], ["pid", 0], ["pid", 1]])), flush=True)
"""


@pytest.fixture
def make_pool(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    made = []

    def make(**settings):
        pool = WorkerPool("pool_jobs:build", **{"workers": 2, "time_limit_s": 20.0} | settings)
        made.append(pool)
        return pool

    yield make
    for pool in made:
        pool.close()


def gone(pid, within_s=30.0):
    """Whether a process ends in time; the time is a bound on waiting, not a claim on speed."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def running(code):
    """A process that runs a script from its standard input."""
    command = [sys.executable, "-"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(code.encode())
    process.stdin.close()
    return process


def first_line(process):
    """The first line that a process prints, as JSON."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def test_results_come_in_the_order_of_the_jobs(make_pool):
    assert make_pool().map([["double", n] for n in range(30)]) == [2 * n for n in range(30)]


def test_a_job_over_its_deadline_is_killed_and_no_other_job_notices(make_pool):
    pool = make_pool(time_limit_s=1.0)
    jobs = [["double", 1], ["forever"], *(["double", n] for n in range(2, 30))]
    results = pool.map(jobs)
    assert results[1] == Unknown("time-out")
    assert results[:1] + results[2:] == [2 * n for n in range(1, 30)]
    assert pool.stats.killed == 1


def test_a_kill_takes_the_children_of_the_worker_along(make_pool, tmp_path):
    pool = make_pool(time_limit_s=2.0)
    assert pool.map([["child", str(tmp_path / "pid")]]) == [Unknown("time-out")]
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_job_that_wants_more_than_the_memory_limit_is_unknown(make_pool):
    pool = make_pool(memory_mb=1024)
    assert pool.map([["allocate"], ["double", 2]]) == [Unknown("memory"), 4]


def test_a_worker_that_dies_takes_only_its_own_job(make_pool):
    pool = make_pool()
    assert pool.map([["die"], ["double", 1], ["double", 2]]) == [Unknown("worker-died"), 2, 4]
    assert pool.stats.died == 1


@pytest.mark.parametrize(
    ("job", "reason"),
    [(["divide", 1, 0], "error:ZeroDivisionError"), (["recurse"], "too-large")],
)
def test_an_exception_is_an_unknown_and_the_worker_goes_on(make_pool, job, reason):
    pool = make_pool(workers=1)
    before, failed, after = pool.map([["pid", 0], job, ["pid", 1]])
    assert failed == Unknown(reason)
    assert before == after


def test_a_worker_is_replaced_after_its_share_of_jobs(make_pool):
    pool = make_pool(workers=1, recycle_after=2)
    pids = pool.map([["pid", n] for n in range(6)])
    assert len(set(pids)) == 3


def test_the_same_job_is_done_once(make_pool, tmp_path):
    pool = make_pool()
    job = ["count", str(tmp_path / "done")]

    async def ask_twice_at_once():
        return await asyncio.gather(pool.submit(job), pool.submit(job))

    assert asyncio.run(ask_twice_at_once()) == [1, 1]
    assert pool.map([job]) == [1]
    assert pool.stats.cached == 1


def test_a_failure_of_the_worker_is_not_remembered_of_the_job(make_pool):
    pool = make_pool()
    assert pool.map([["die"]]) == pool.map([["die"]]) == [Unknown("worker-died")]
    assert pool.stats.died == 2


def test_the_least_recently_used_results_leave_the_cache(make_pool):
    pool = make_pool(cache_size=2)
    pool.map([["double", 1]])
    pool.map([["double", 2]])
    pool.map([["double", 1]])
    pool.map([["double", 3]])
    cached = pool.stats.cached
    pool.map([["double", 1]])
    assert pool.stats.cached == cached + 1
    pool.map([["double", 2]])
    assert pool.stats.cached == cached + 1


def test_one_awaiter_may_give_up_without_taking_the_job_from_another(make_pool, tmp_path):
    pool = make_pool()
    job = ["count", str(tmp_path / "done")]

    async def one_gives_up():
        impatient = asyncio.create_task(pool.submit(job))
        patient = asyncio.create_task(pool.submit(job))
        await asyncio.sleep(0)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        return await patient

    assert asyncio.run(one_gives_up()) == 1


def test_threads_with_loops_of_their_own_share_a_pool(make_pool):
    pool = make_pool()
    found = {}

    def work(n):
        found[n] = asyncio.run(pool.submit(["double", n]))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: 2 * n for n in range(5)}


@pytest.mark.parametrize("way", ["stdin", "unguarded script"])
def test_a_pool_starts_from_any_entry_point_and_ends_with_it(tmp_path, way):
    """No `if __name__ == "__main__"`, no close: still no second run, warning or process."""
    code = SCRIPT.format(here=str(HERE))
    script = tmp_path / "script.py"
    script.write_text(code)
    command = [sys.executable, "-X", "dev", "-W", "error", "-" if way == "stdin" else str(script)]
    done = subprocess.run(command, input=code, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert result[0] == 8
    assert all(gone(pid) for pid in result[1:])


def test_workers_end_when_their_parent_is_killed(tmp_path):
    code = SCRIPT.format(here=str(HERE)) + "\nimport time; time.sleep(600)\n"
    with running(code) as parent:
        pids = first_line(parent)[1:]
        parent.send_signal(signal.SIGKILL)
    assert all(gone(pid) for pid in pids)


@pytest.mark.slow
def test_a_busy_worker_ends_too_when_its_parent_is_killed(tmp_path):
    code = SCRIPT.format(here=str(HERE)).replace("workers=2", "workers=2, time_limit_s=0.5")
    code += f"\npool._enqueue(['child', {str(tmp_path / 'pid')!r}])\nimport time; time.sleep(600)\n"
    with running(code) as parent:
        pids = first_line(parent)[1:]
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        parent.send_signal(signal.SIGKILL)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)  # the job's own child
    assert all(gone(pid) for pid in pids)


def test_a_closed_pool_has_no_processes_and_answers_closed(make_pool):
    pool = make_pool()
    pids = pool.map([["pid", n] for n in range(4)])
    pool.close()
    pool.close()
    assert all(gone(pid) for pid in pids)
    assert pool.map([["double", 99]]) == [Unknown("closed")]


def test_jobs_in_work_end_as_closed(make_pool):
    pool = make_pool()

    async def close_meanwhile():
        jobs = [asyncio.create_task(pool.submit(["forever"])) for _ in range(3)]
        await pool.submit(["double", 1])
        await asyncio.to_thread(pool.close)
        return await asyncio.gather(*jobs)

    # `forever` three times is one job; the second worker did the other one
    assert asyncio.run(close_meanwhile()) == [Unknown("closed")] * 3


@pytest.mark.parametrize(
    ("entry", "options", "message"),
    [
        ("pool_jobs:build", "broken", "RuntimeError: no such table"),
        ("pool_jobs:nothing", None, "AttributeError"),
        ("no_such_module_at_all:build", None, "ModuleNotFoundError"),
    ],
)
def test_workers_that_cannot_start_are_the_callers_mistake(monkeypatch, entry, options, message):
    monkeypatch.syspath_prepend(str(HERE))
    pool = WorkerPool(entry, options)
    with pytest.raises(UserError, match=message):
        pool.map([["double", 1]])
    with pytest.raises(UserError, match=message):  # and it stays so
        pool.map([["double", 2]])
    pool.close()


def test_a_memory_limit_too_low_to_start_is_said(make_pool):
    with pytest.raises(UserError, match="memory"):
        make_pool(memory_mb=1).map([["double", 1]])


def test_a_fork_cannot_use_its_parents_pool(make_pool):
    pool = make_pool()
    pool._pid = -1  # what a fork would see
    with pytest.raises(StepmillError, match="fork"):
        pool.map([["double", 1]])

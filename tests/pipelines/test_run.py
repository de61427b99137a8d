"""The main job from end to end on the simulated policy: killed, continued, grown, refused."""

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from stepmill import wordproblems
from stepmill.errors import Stopped, UserError
from stepmill.pipelines.config import check_config
from stepmill.pipelines.finish import finish
from stepmill.pipelines.run import prepare, run_here
from stepmill.pipelines.rundir import RunDir
from stepmill.pipelines.workshop import close_workshop, open_workshop, request_stop, workshop

SCRIPT = Path(__file__).with_name("killable_run.py")
TABLES = ("problems", "solutions", "evidence", "rollouts")


def settings(kind="simulated", **changes):
    content: dict[str, Any] = {
        "name": "test",
        "problems": {"kind": "generated", "n": 12, "seed": 3, "max_steps": 6},
        "policy": {"engine": {"kind": kind}, "sampling": {"max_tokens": 400}},
        "segmenter": {"kind": "line"},
        "solutions": {"n": 6},
        "search": {"method": "binary", "k": 4},
        "run": {"shard_size": 5, "in_flight": 16, "active_problems": 3},
    }
    run_changes = changes.pop("run", {})
    return {**content, **changes, "run": {**content["run"], **run_changes}}


def run(root, **changes):
    config = check_config(settings(**changes), "test")
    prepared = prepare(config, root)
    try:
        run_here(prepared, config.run.shards_at_once)
    finally:
        close_workshop(root)
    return finish(root)


def paid_by(root):
    """Completions that the open workshop of a run has drawn."""
    shop = open_workshop(root)
    assert shop is not None
    return shop.progress.rollouts


def tables(root):
    return {
        name: pl.concat([pl.read_parquet(p) for p in sorted((root / name).glob("part-*.parquet"))])
        for name in TABLES
    }


def rows(root):
    """The data set without the time at which the run began."""
    frame = pl.read_parquet(root / "data" / "*.parquet")
    return frame.with_columns(
        pl.col("provenance").struct.with_fields(created_at=pl.lit(None))
    ).to_dicts()


def same_run(a, b):
    left, right = tables(a), tables(b)
    return all(left[t].equals(right[t]) for t in TABLES) and rows(a) == rows(b)


def notes(log):
    """Draws sent and draws answered, each counted."""
    sent, answered = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for line in log.read_text().splitlines():
        sign, key, draws = line.split()
        (sent if sign == "+" else answered).update((key, d) for d in draws.split(","))
    return sent, answered


def test_every_row_joins_back_to_its_text_and_has_a_label_or_a_reason_per_step(tmp_path):
    metrics = run(tmp_path / "run")
    data = rows(tmp_path / "run")
    assert metrics["data"]["rows"] == len(data) > 20
    for row in data:
        assert "".join(s["text"] for s in row["steps"]) == row["solution"]
        assert [s["index"] for s in row["steps"]] == list(range(row["n_steps"]))
        for step in row["steps"]:
            assert (step["hard_label"] is None) == (step["label_reason"] != "")
            assert step["n_rollouts"] is None or step["n_correct"] <= step["n_rollouts"]
        assert row["simulated"]


def test_a_second_run_of_the_same_configuration_pays_for_nothing(tmp_path):
    first = run(tmp_path / "run")
    before = tables(tmp_path / "run")
    assert run(tmp_path / "run") == first
    assert all(before[t].equals(tables(tmp_path / "run")[t]) for t in TABLES)


def test_rows_do_not_depend_on_how_much_works_at_once(tmp_path):
    run(tmp_path / "a")
    run(tmp_path / "b", run={"in_flight": 1, "active_problems": 1, "shards_at_once": 1})
    assert same_run(tmp_path / "a", tmp_path / "b")


SKILLED = {
    "engine": {"kind": "simulated", "skill": 0.97, "self_correction": 0.0},
    "sampling": {"max_tokens": 400},
}
"""Sixteen draws from a prefix without an error then hardly ever all fail."""


def first_errors(root):
    """First error found and first error known, of each wrong solution."""
    return {
        r["id"]: (r["first_error"], wordproblems.first_error(r["prompt"], r["solution"]))
        for r in rows(root)
        if r["outcome"] == "incorrect"
    }


@pytest.mark.slow
def test_searches_find_the_known_first_error_and_agree(tmp_path):
    found = {}
    for method in ("every-step", "scan", "binary", "omegaprm"):
        run(
            tmp_path / method,
            policy=SKILLED,
            problems={"kind": "generated", "n": 200, "seed": 3},
            search={"method": method, "k": 16},
            run={"shard_size": 100, "in_flight": 512, "active_problems": 64},
        )
        found[method] = first_errors(tmp_path / method)
        assert len(found[method]) > 150
        hits = [measured == known for measured, known in found[method].values()]
        assert sum(hits) / len(hits) > 0.97
    for method in ("scan", "binary", "omegaprm"):
        shared = found["every-step"].keys() & found[method].keys()
        assert len(shared) > 100
        same = [found["every-step"][i][0] == found[method][i][0] for i in shared]
        assert sum(same) / len(same) > 0.97


def test_a_grown_source_costs_only_its_new_problems(tmp_path):
    run(tmp_path / "run")
    before = tables(tmp_path / "run")["rollouts"]
    config = check_config(
        settings(problems={"kind": "generated", "n": 15, "seed": 3, "max_steps": 6}), "test"
    )
    prepared = prepare(config, tmp_path / "run")
    assert prepared.n_problems == 15
    assert len(prepared.todo) == 1
    run_here(prepared, 2)
    close_workshop(tmp_path / "run")
    finish(tmp_path / "run")
    after = tables(tmp_path / "run")["rollouts"]
    assert after.head(before.height).equals(before)
    assert after.height > before.height


def test_more_rollouts_reuse_those_of_an_earlier_run(tmp_path):
    run(tmp_path / "four")
    four = tables(tmp_path / "four")["rollouts"]
    config = check_config(settings(search={"method": "binary", "k": 8}), "test")
    prepared = prepare(config, tmp_path / "eight", reuse=[tmp_path / "four"])
    run_here(prepared, 2)
    paid = paid_by(tmp_path / "eight")
    close_workshop(tmp_path / "eight")
    run(tmp_path / "fresh", search={"method": "binary", "k": 8})
    fresh = tables(tmp_path / "fresh")["rollouts"]
    assert paid <= fresh.height - four.filter(pl.col("prefix") == "").height
    finish(tmp_path / "eight")
    assert [r["steps"] for r in rows(tmp_path / "eight")] == [
        r["steps"] for r in rows(tmp_path / "fresh")
    ]


def test_another_configuration_is_refused_with_the_keys_that_differ(tmp_path):
    run(tmp_path / "run")
    with pytest.raises(UserError, match=r"search\.k.*--reuse"):
        prepare(check_config(settings(search={"method": "binary", "k": 5}), "t"), tmp_path / "run")


def test_a_run_may_be_continued_with_other_engine_speeds_and_addresses(tmp_path):
    run(tmp_path / "run")
    slower = {"engine": {"kind": "simulated", "latency": 0.5}, "sampling": {"max_tokens": 400}}
    assert prepare(check_config(settings(policy=slower), "t"), tmp_path / "run").todo == ()


def test_a_second_writer_is_refused_while_shards_are_in_work(tmp_path):
    root = tmp_path / "run"
    prepared = prepare(check_config(settings(), "test"), root)
    with RunDir(root).exclusive(), pytest.raises(UserError, match="is writing"):
        run_here(prepared, 2)


def test_verdicts_of_another_checker_are_not_reused(tmp_path):
    run(tmp_path / "a", checker={"kind": "exact"})
    before = tables(tmp_path / "a")["rollouts"]
    assert set(before["reason"]) == {"text"}
    prepared = prepare(check_config(settings(), "t"), tmp_path / "b", reuse=[tmp_path / "a"])
    run_here(prepared, 2)
    assert paid_by(tmp_path / "b") == 0
    close_workshop(tmp_path / "b")
    assert "number" in set(tables(tmp_path / "b")["rollouts"]["reason"])


def test_fewer_problems_are_refused_so_that_nothing_is_lost(tmp_path):
    run(tmp_path / "run")
    fewer = settings(problems={"kind": "generated", "n": 4, "seed": 3, "max_steps": 6})
    with pytest.raises(UserError, match="no longer has"):
        prepare(check_config(fewer, "test"), tmp_path / "run")


def test_a_stopped_run_keeps_what_it_has_and_continues(tmp_path):
    root = tmp_path / "run"
    slow = {"engine": {"kind": "simulated", "latency": 0.02}, "sampling": {"max_tokens": 400}}
    config = check_config(settings(policy=slow), "test")
    prepared = prepare(config, root)
    workshop(root)
    timer = threading.Timer(0.3, request_stop, (root, "interrupted"))
    timer.start()
    with pytest.raises(Stopped):
        run_here(prepared, 2)
    timer.join()
    kept = paid_by(root)
    close_workshop(root)
    assert kept > 0
    run_here(prepare(config, root), 2)
    paid = paid_by(root)
    close_workshop(root)
    finish(root)
    run(tmp_path / "undisturbed", policy=slow)
    assert same_run(root, tmp_path / "undisturbed")
    assert kept + paid == tables(root)["rollouts"].height


def spawn(config, out, log, where=""):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(config), str(out), str(log), where],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.fixture
def noted_config(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(
        yaml.safe_dump(
            settings(
                policy={
                    "engine": {"kind": "noted", "latency": 0.05},
                    "sampling": {"max_tokens": 400},
                },
                problems={"kind": "generated", "n": 24, "seed": 3, "max_steps": 6},
            )
        )
    )
    return path


@pytest.mark.slow
def test_a_run_killed_at_20_random_moments_gives_the_rows_of_an_undisturbed_one(
    tmp_path, noted_config
):
    undisturbed = spawn(noted_config, tmp_path / "a", tmp_path / "a.log")
    output, _ = undisturbed.communicate()
    assert undisturbed.returncode == 0, output.decode()
    whole, _ = notes(tmp_path / "a.log")
    assert max(whole.values()) == 1

    rng, log = random.Random(7), tmp_path / "b.log"
    log.touch()
    kills, in_flight = 0, 0
    while kills < 20:
        size = log.stat().st_size
        process = spawn(noted_config, tmp_path / "b", log)
        while process.poll() is None and log.stat().st_size == size:
            time.sleep(0.01)  # imports take seconds: wait for its first call
        time.sleep(rng.uniform(0, 0.12))
        process.kill()
        process.communicate()
        if process.returncode != -signal.SIGKILL:
            break  # it was done before 20 kills: the counts below still hold
        kills += 1
        sent, answered = notes(log)
        in_flight = sum(sent.values()) - sum(answered.values())
    last = spawn(noted_config, tmp_path / "b", log)
    output, _ = last.communicate()
    assert last.returncode == 0, output.decode()
    assert kills == 20
    assert same_run(tmp_path / "a", tmp_path / "b")
    sent, _ = notes(log)
    assert set(sent) == set(whole)
    assert sum(sent.values()) <= sum(whole.values()) + in_flight


@pytest.mark.slow
@pytest.mark.parametrize("where", ["before-manifest", "after-manifest"])
def test_a_run_killed_around_the_commit_of_a_shard_continues(tmp_path, noted_config, where):
    log = tmp_path / "log"
    killed = spawn(noted_config, tmp_path / "run", log, where)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert any((tmp_path / "run" / "journal").iterdir())
    last = spawn(noted_config, tmp_path / "run", log)
    output, _ = last.communicate()
    assert last.returncode == 0, output.decode()
    assert not any((tmp_path / "run" / "journal").iterdir())
    sent, answered = notes(log)
    # The other shard in work had calls in flight when the process died.
    assert sum(sent.values()) - len(sent) <= sum(sent.values()) - sum(answered.values())
    undisturbed = spawn(noted_config, tmp_path / "other", tmp_path / "other.log")
    undisturbed.communicate()
    assert same_run(tmp_path / "run", tmp_path / "other")


def test_a_problem_that_the_engine_refuses_is_set_aside_and_counted(tmp_path):
    source = tmp_path / "problems.jsonl"
    good = wordproblems.generate(5, 3, 3, 4)
    lines = [f'{{"question": "{p.question}", "answer": "{p.answer}"}}' for p in good]
    lines.insert(1, '{"question": "What is the meaning of life?", "answer": "42"}')
    source.write_text("\n".join(lines))
    metrics = run(tmp_path / "run", problems={"kind": "file", "path": str(source)})
    assert metrics["problems"]["refused"] == 1
    assert metrics["problems"]["total"] == 4


def test_a_full_disk_is_one_clear_error_and_the_run_continues_after_it(tmp_path, monkeypatch):
    root = tmp_path / "run"
    real, budget = os.write, [20_000]

    def full(fd, data):
        budget[0] -= len(data)
        if budget[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(fd, data)

    monkeypatch.setattr("stepmill.pipelines.journal.os.write", full)
    with pytest.raises(UserError, match=r"disk under .* is full"):
        run(root)
    monkeypatch.undo()
    run(root)
    run(tmp_path / "undisturbed")
    assert same_run(root, tmp_path / "undisturbed")

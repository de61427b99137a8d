"""A whole run by the change-point search on the simulated policy; its shapes are learned."""

import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stepmill import wordproblems
from stepmill.errors import Stopped
from stepmill.pipelines.config import check_config
from stepmill.pipelines.finish import finish
from stepmill.pipelines.run import prepare, run_here
from stepmill.pipelines.workshop import close_workshop, request_stop, workshop

SEARCH = {"method": "change-point", "calibration": 4}


def config_of(n=12, latency=0.0, **run: Any):
    return check_config(
        {
            "name": "test",
            "problems": {"kind": "generated", "n": n, "seed": 3, "max_steps": 6},
            "policy": {"engine": {"kind": "simulated", "latency": latency}},
            "segmenter": {"kind": "line"},
            "solutions": {"n": 8},
            "search": SEARCH,
            "label": {"rule": "change-point"},
            "run": {"shard_size": 6, "in_flight": 64, "active_problems": 6, **run},
        },
        "test",
    )


def run(root: Path, config):
    prepared = prepare(config, root)
    try:
        run_here(prepared, config.run.shards_at_once)
    finally:
        close_workshop(root)
    return finish(root)


def evidence(root: Path) -> pl.DataFrame:
    parts = sorted((root / "evidence").glob("part-*.parquet"))
    return pl.concat([pl.read_parquet(part) for part in parts])


def test_what_is_found_does_not_depend_on_how_much_works_at_once(tmp_path):
    run(tmp_path / "wide", config_of())
    run(tmp_path / "narrow", config_of(in_flight=1, active_problems=1, shards_at_once=1))
    assert evidence(tmp_path / "wide").equals(evidence(tmp_path / "narrow"))


def test_a_stopped_run_continues_to_the_same_evidence(tmp_path):
    """It is stopped while the first problems, from which the others learn, are in work."""
    run(tmp_path / "whole", config_of())
    root, slow = tmp_path / "stopped", config_of(latency=0.05, in_flight=8)
    prepared = prepare(slow, root)
    workshop(root)  # opened, so that there is something to stop
    timer = threading.Timer(0.3, request_stop, (root, "interrupted"))
    timer.start()
    with pytest.raises(Stopped):
        run_here(prepared, 1)
    timer.join()
    close_workshop(root)
    run(root, config_of())
    assert evidence(tmp_path / "whole").equals(evidence(root))


@pytest.mark.slow
def test_it_finds_known_first_errors(tmp_path):
    run(tmp_path / "run", config_of(n=100, shard_size=100, active_problems=100))
    rows = pl.read_parquet(tmp_path / "run" / "data" / "*.parquet").filter(outcome="incorrect")
    judged = [
        (row["first_error"], wordproblems.first_error(row["prompt"], row["solution"]))
        for row in rows.iter_rows(named=True)
        if row["first_error"] is not None
    ]
    assert len(judged) > 0.85 * rows.height
    assert sum(found == known for found, known in judged) > 0.93 * len(judged)

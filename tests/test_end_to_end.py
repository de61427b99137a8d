"""The main job with a real language model: in this process, and through a server on loopback."""

import datasets
import duckdb
import polars as pl
import pytest

from stepmill import wordproblems
from stepmill.pipelines.config import check_config
from stepmill.pipelines.finish import finish
from stepmill.pipelines.run import prepare, run_here
from stepmill.pipelines.workshop import close_workshop

pytestmark = pytest.mark.slow

EMBEDDED = {"kind": "embedded", "model": "tiny"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, vllm_server):
    """One small run of the demo's kind per way to reach the model: root and figures by name."""
    pytest.importorskip("vllm")
    server = {"kind": "server", "urls": vllm_server, "prompt": {"template": "plain"}}
    found = {}
    for name, engine in (("embedded", EMBEDDED), ("server", server)):
        root = tmp_path_factory.mktemp(name) / "run"
        config = check_config(
            {
                "name": name,
                "problems": {"kind": "generated", "n": 12, "seed": 20, "max_steps": 8},
                "policy": {"engine": engine, "sampling": {"max_tokens": 200}},
                "segmenter": {"kind": "line"},
                "solutions": {"n": 16},
                "search": {"method": "omegaprm", "k": 8, "searches": 3, "length_scale": 100},
                "run": {"shard_size": 6},
            },
            name,
        )
        try:
            run_here(prepare(config, root), 2)
        finally:
            close_workshop(root)
        found[name] = (root, finish(root))
    return found


@pytest.fixture(params=["embedded", "server"])
def run(request, runs):
    return runs[request.param]


def test_a_real_model_gives_mixed_labels_and_known_costs(run):
    _, metrics = run
    assert not metrics["simulated"]
    assert metrics["data"]["hard"]["good"] > 20
    assert metrics["data"]["hard"]["bad"] > 3
    assert 0.2 < metrics["success_rate"] < 0.95
    assert metrics["tokens"]["generated"] > 1000
    assert metrics["tokens"]["prompt_cached"] > 0
    assert metrics["completions"]["from_prefix"] > 0


def test_found_first_errors_hit_the_true_ones_more_often_than_a_guess(runs):
    hits, guesses = 0, 0.0
    for root, _ in runs.values():
        rows = pl.read_parquet(root / "data" / "*.parquet").filter(pl.col("first_error") >= 0)
        for prompt, solution, found, n in rows.select(
            "prompt", "solution", "first_error", "n_steps"
        ).iter_rows():
            hits += wordproblems.first_error(prompt, solution) == found
            guesses += 1 / n
    # Any success of 8 draws is a noisy rule here: the policy still ends right in a fifth of the
    # draws before a first error, and in a twentieth after it (see the model's card).
    assert hits > guesses > 1


def test_steps_join_to_the_solution_in_every_row(run):
    root, _ = run
    rows = pl.read_parquet(root / "data" / "*.parquet")
    joined = rows.select(
        pl.col("steps").list.eval(pl.element().struct.field("text")).list.join("")
    ).to_series()
    assert joined.to_list() == rows["solution"].to_list()
    assert rows.height > 12


def test_three_readers_see_the_same_rows(run, tmp_path):
    root, metrics = run
    pattern = str(root / "data" / "*.parquet")
    loaded = datasets.load_dataset(
        "parquet", data_dir=str(root / "data"), split="train", cache_dir=str(tmp_path)
    )
    frame = pl.scan_parquet(pattern).collect()
    with duckdb.connect() as connection:
        (count, steps) = connection.execute(
            f"select count(*), sum(len(steps)) from '{pattern}'"
        ).fetchall()[0]
    assert count == frame.height == loaded.num_rows == metrics["data"]["rows"]
    assert steps == frame["n_steps"].sum() == sum(map(len, loaded["steps"]))
    assert loaded["id"] == frame["id"].to_list()
    assert [s["hard_label"] for row in loaded["steps"] for s in row] == [
        s["hard_label"] for row in frame["steps"].to_list() for s in row
    ]


def test_both_ways_write_one_schema(runs):
    schemas = [
        pl.read_parquet_schema(next((root / "data").glob("*.parquet"))) for root, _ in runs.values()
    ]
    assert schemas[0] == schemas[1]


def test_every_completion_is_stored_with_the_tokens_it_was_sampled_as(run):
    root, metrics = run
    rollouts = pl.read_parquet(root / "rollouts" / "*.parquet")
    assert rollouts.height == metrics["completions"]["total"]
    assert rollouts["token_ids"].null_count() == 0
    assert rollouts.select("policy", "prefix_key", "draw").is_duplicated().sum() == 0

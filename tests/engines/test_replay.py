import asyncio
import json

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stepmill.engines.base import ENGINES, Policy, Prefix
from stepmill.engines.replay import ReplayEngine, ReplaySettings
from stepmill.errors import EngineDead, EngineError, UserError
from stepmill.pipelines.ledger import LedgerRow
from stepmill.pipelines.parquet import write_table_atomic
from stepmill.pipelines.tables import rollouts_table
from stepmill.records import Completion, SamplingParams

PARAMS = SamplingParams()
QUESTION = "What is 2 + 3?"


def rows(question=QUESTION, prefix="", n=4, **more):
    return [
        {
            "question": question,
            "prefix": prefix,
            "draw": i,
            "text": f"{prefix}|{i}",
            "finish_reason": "stop",
            "n_tokens": i + 1,
            **more,
        }
        for i in range(n)
    ]


def replay(path, *asked, **options):
    """Completions for `asked`, pairs of a prefix and draws."""

    async def main():
        engine = ENGINES["replay"].open(ReplaySettings(path=path, **options))
        await engine.start()
        try:
            return [await engine.complete(p, d, PARAMS, seed=7) for p, d in asked]
        finally:
            await engine.close()

    return asyncio.run(main())


def started(path, **options) -> ReplayEngine:
    engine = ReplayEngine(ReplaySettings(path=path, **options))
    asyncio.run(engine.start())
    return engine


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "recording.parquet"
    pl.DataFrame(rows() + rows(prefix="Step 1\n", n=2)).write_parquet(path)
    return path


def test_a_draw_is_the_recorded_draw_of_that_index_at_that_prefix(recording):
    asked = [(Prefix(QUESTION, "Step 1\n"), [1]), (Prefix(QUESTION), [0, 2, 3])]
    deep, root = replay(recording, *asked)
    assert [(c.draw, c.text, c.n_tokens) for c in deep] == [(1, "Step 1\n|1", 2)]
    assert [(c.draw, c.text) for c in root] == [(0, "|0"), (2, "|2"), (3, "|3")]


def test_rows_may_stand_in_any_order_and_over_many_files(tmp_path):
    frame = pl.DataFrame(rows() + rows(prefix="Step 1\n")).sample(
        fraction=1.0, shuffle=True, seed=1
    )
    for i in range(2):
        frame[i * 4 : i * 4 + 4].write_parquet(tmp_path / f"part-{i}.parquet")
    (found,) = replay(tmp_path, (Prefix(QUESTION, "Step 1\n"), range(4)))
    assert [c.text for c in found] == [f"Step 1\n|{i}" for i in range(4)]


@pytest.mark.parametrize(
    ("prefix", "draw", "recorded"),
    [(Prefix(QUESTION), 4, "4 recorded"), (Prefix(QUESTION, "Step 2"), 0, "none recorded")],
)
def test_what_was_not_recorded_is_an_error_that_says_how_much_was(
    recording, prefix, draw, recorded
):
    with pytest.raises(EngineError, match=recorded) as caught:
        replay(recording, (prefix, [draw]))
    assert f"draw {draw} " in str(caught.value)
    assert "What is 2" in str(caught.value)
    assert not caught.value.retryable


def test_a_gap_in_the_recording_is_not_filled_with_another_draw(tmp_path):
    path = tmp_path / "gap.parquet"
    pl.DataFrame([row for row in rows() if row["draw"] != 1]).write_parquet(path)
    with pytest.raises(EngineError, match="3 recorded"):
        replay(path, (Prefix(QUESTION), [1]))


def test_everything_that_a_run_stores_comes_back(tmp_path):
    completions = [
        Completion("a", "stop", 2, 0, (5, 0), (-0.5, -0.25), cached_tokens=3, prompt_tokens=9),
        Completion("b", "length", 1, 1),
    ]
    prefix = Prefix(QUESTION, "Step 1\n")
    table = rollouts_table(LedgerRow("policy", "problem", prefix, c, None) for c in completions)
    (tmp_path / "rollouts").mkdir()
    write_table_atomic(tmp_path / "rollouts" / "part-00000.parquet", table)
    assert replay(tmp_path, (prefix, [0, 1])) == [completions]


@pytest.mark.parametrize("inside", ["", "rollouts", "rollouts/part-00000.parquet"])
def test_a_recording_of_a_simulated_run_stays_simulated(tmp_path, inside):
    (tmp_path / "rollouts").mkdir()
    pl.DataFrame(rows()).write_parquet(tmp_path / "rollouts" / "part-00000.parquet")
    assert not started(tmp_path / inside).simulated
    (tmp_path / "policy.json").write_text(json.dumps({"simulated": True}))
    assert started(tmp_path / inside).simulated


def test_a_user_can_say_that_a_recording_is_simulated(recording):
    assert started(recording, simulated=True).simulated


def test_one_of_several_policies_is_chosen(tmp_path):
    path = tmp_path / "two.parquet"
    first = rows(policy="first")
    second = [{**row, "text": "other"} for row in rows(policy="second")]
    pl.DataFrame(first + second).write_parquet(path)
    (found,) = replay(path, (Prefix(QUESTION), [0]), policy="second")
    assert found[0].text == "other"
    with pytest.raises(UserError, match="first, second; choose one"):
        replay(path)
    with pytest.raises(UserError, match=r"'third', but .*first, second"):
        replay(path, policy="third")


def test_the_policy_behind_a_replay_is_what_it_answers_and_not_where_it_lies(recording, tmp_path):
    def fingerprint(path):
        return Policy(started(path), PARAMS).fingerprint

    elsewhere = tmp_path / "elsewhere.parquet"
    pl.read_parquet(recording).reverse().write_parquet(elsewhere)
    other = tmp_path / "other.parquet"
    pl.read_parquet(recording).with_columns(text=pl.lit("x")).write_parquet(other)
    assert fingerprint(recording) == fingerprint(elsewhere) != fingerprint(other)


@pytest.mark.parametrize("missing", ["prefix", "draw", "text", "finish_reason", "n_tokens"])
def test_a_missing_column_is_named(tmp_path, missing):
    path = tmp_path / "short.parquet"
    pl.DataFrame(rows()).drop(missing).write_parquet(path)
    with pytest.raises(UserError, match=f"no column {missing}"):
        started(path)


def test_an_empty_cell_is_refused(tmp_path):
    path = tmp_path / "empty.parquet"
    pl.DataFrame([*rows(), {**rows()[0], "draw": None}]).write_parquet(path)
    with pytest.raises(UserError, match="rows without draw"):
        started(path)


@pytest.mark.parametrize("name", ["nothing", "nothing.parquet"])
def test_a_path_with_nothing_there_is_the_users_to_mend(tmp_path, name):
    with pytest.raises(UserError, match="does not exist"):
        started(tmp_path / name)
    with pytest.raises(UserError, match="holds no Parquet files"):
        started(tmp_path)


def test_a_file_that_is_not_parquet_is_named(tmp_path):
    path = tmp_path / "torn.parquet"
    path.write_bytes(b"PAR1 torn")
    with pytest.raises(UserError, match=r"torn\.parquet cannot be read"):
        started(path)


def test_keys_of_another_form_are_refused(tmp_path):
    path = tmp_path / "keys.parquet"
    table = pl.DataFrame(rows()).with_columns(prefix_key=pl.lit("no hash")).to_arrow()
    pq.write_table(table, path)
    with pytest.raises(UserError, match="cannot be read"):
        started(path)


def test_long_lists_and_dictionary_columns_are_read_too(tmp_path):
    path = tmp_path / "types.parquet"
    table = pa.table(
        {
            "question": pa.array([QUESTION]).dictionary_encode(),
            "prefix": [""],
            "draw": pa.array([0], pa.int64()),
            "text": ["5"],
            "finish_reason": pa.array(["stop"]).dictionary_encode(),
            "n_tokens": pa.array([2], pa.int16()),
            "token_ids": pa.array([[5, 0]], pa.large_list(pa.int64())),
        }
    )
    pq.write_table(table, path)
    ((found,),) = replay(path, (Prefix(QUESTION), [0]))
    assert found == Completion("5", "stop", 2, 0, token_ids=(5, 0))


def test_the_engine_counts_what_it_gave(recording):
    engine = started(recording)
    asyncio.run(engine.complete(Prefix(QUESTION), range(3), PARAMS, seed=7))
    stats = engine.stats
    assert (stats.requests, stats.completions, stats.generated_tokens) == (1, 3, 6)


def test_a_closed_engine_says_so(recording):
    engine = started(recording)
    asyncio.run(engine.close())
    with pytest.raises(EngineDead):
        asyncio.run(engine.complete(Prefix(QUESTION), [0], PARAMS, seed=7))

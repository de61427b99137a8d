import random
from dataclasses import replace

import datasets
import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError
from tests.pipelines.conftest import POLICY, counts, make_problem, make_solution

from stepmill.errors import UserError
from stepmill.pipelines.dataset import DatasetSettings, build_dataset
from stepmill.pipelines.labels import HardRule, SoftRule
from stepmill.pipelines.parquet import read_table
from stepmill.pipelines.schema import DATASET_SCHEMA, VERSION_KEY
from stepmill.records import Step, Verdict

RIGHT, WRONG, UNKNOWN = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNKNOWN
EVERYTHING = DatasetSettings(filters=())

PROBLEMS = [make_problem(q) for q in ("2 + 2?", "Ωmega → ∑?", "3 + 1?")]
SOLUTIONS = [
    make_solution(PROBLEMS[0], ["2 + 2\n", "is four.\n", "4"], RIGHT),
    make_solution(PROBLEMS[0], ["Two é 🙂 and\n\n", "two:\t", "5"], WRONG),
    make_solution(PROBLEMS[1], ["∑ of nothing\n", "is …"], UNKNOWN),
    make_solution(PROBLEMS[2], ["3 + 1 = 4"], RIGHT),
]
EVIDENCE = [
    *counts(SOLUTIONS[0], {-1: (4, 8), 0: (6, 8), 1: (8, 8)}),
    *counts(SOLUTIONS[1], {-1: (4, 8), 0: (3, 8), 1: (0, 8)}),
]


@pytest.fixture
def build(rundir, provenance):
    def run(shards=(0,), rule=None, settings=EVERYTHING):
        return build_dataset(rundir, shards, rule or HardRule(), settings, provenance)

    return run


@pytest.fixture
def stored(write_part):
    """One part with every kind of solution."""
    write_part(0, PROBLEMS, SOLUTIONS, EVIDENCE)


def files(rundir):
    return sorted(path.name for path in rundir.data.iterdir())


def rows(rundir):
    return [
        row
        for name in files(rundir)
        for row in read_table(rundir.data / name, DATASET_SCHEMA).to_pylist()
    ]


def test_the_steps_of_every_row_join_back_to_its_solution(rundir, stored, build):
    build()
    found = rows(rundir)
    assert sorted(row["solution"] for row in found) == sorted(s.text for s in SOLUTIONS)
    for row in found:
        assert "".join(step["text"] for step in row["steps"]) == row["solution"]
        assert len(row["steps"]) == row["n_steps"]
        for i, step in enumerate(row["steps"]):
            assert step["index"] == i
            assert row["solution"][step["char_start"] : step["char_end"]] == step["text"]


def test_a_row_carries_problem_outcome_counts_labels_and_provenance(rundir, stored, build):
    build()
    (row,) = [r for r in rows(rundir) if r["solution"] == SOLUTIONS[1].text]
    assert row["problem_id"] == PROBLEMS[0].id
    assert (row["prompt"], row["reference_answer"]) == ("2 + 2?", "4")
    assert (row["outcome"], row["final_correct"]) == ("incorrect", False)
    assert row["simulated"] is True
    assert (row["label_kind"], row["first_error"]) == ("validity", 1)
    assert (row["n_correct_0"], row["n_rollouts_0"], row["value_0"]) == (4, 8, 0.5)
    first, second, last = row["steps"]
    assert (first["n_correct"], first["n_rollouts"], first["mc_value"]) == (3, 8, 0.375)
    assert first["mc_low"] < 0.375 < first["mc_high"]
    assert [s["hard_label"] for s in row["steps"]] == [1, 0, None]
    assert (second["label_source"], second["stop_reason"]) == ("rollout", "fixed")
    assert (last["label_source"], last["label_reason"]) == ("", "after-error")
    assert (last["n_rollouts"], last["mc_value"], last["stop_reason"]) == (None, None, "")
    assert last["after_error"] is True
    assert last["judge_votes"] == last["verifier_verdicts"] == []
    assert row["provenance"]["generator"]["sampling"]["stop"] == ["###"]
    assert row["provenance"]["completer"]["fingerprint"] == POLICY
    assert row["provenance"]["created_at"].isoformat() == "2026-01-02T03:04:05+00:00"


def test_an_outcome_that_is_unknown_is_neither_right_nor_wrong(rundir, stored, build):
    build()
    (row,) = [r for r in rows(rundir) if r["outcome"] == "unknown"]
    assert row["final_correct"] is None
    assert row["first_error"] is None
    assert [step["hard_label"] for step in row["steps"]] == [None, None]
    assert row["outcome_reason"] == "truncated"


def test_the_order_in_which_work_finished_leaves_no_trace(rundir, write_part, build, stored):
    build()
    before = (rundir.data / files(rundir)[0]).read_bytes()
    chance = random.Random(3)
    for _ in range(3):
        shuffled = [chance.sample(records, len(records)) for records in (SOLUTIONS, EVIDENCE)]
        write_part(0, PROBLEMS, *shuffled)
        build()
        assert (rundir.data / files(rundir)[0]).read_bytes() == before


def test_rows_follow_the_problems_of_their_part(rundir, stored, build):
    build()
    order = [problem.id for problem in PROBLEMS]
    found = [order.index(row["problem_id"]) for row in rows(rundir)]
    assert found == sorted(found)


def test_soft_labels_go_to_their_own_column(rundir, stored, build):
    build(rule=SoftRule())
    (row,) = [r for r in rows(rundir) if r["solution"] == SOLUTIONS[0].text]
    assert row["label_kind"] == "value"
    assert [step["soft_label"] for step in row["steps"]] == [0.75, 1, 1]
    assert {step["hard_label"] for step in row["steps"]} == {None}


def read_with_datasets(rundir, cache):
    return datasets.load_dataset(
        "parquet", data_dir=str(rundir.data), split="train", cache_dir=str(cache)
    ).to_list()


def read_with_duckdb(rundir):
    with duckdb.connect() as connection:
        return connection.execute(
            f"SELECT id, first_error, s.index, s.hard_label, s.soft_label, s.text FROM ("
            f"SELECT id, first_error, unnest(steps) AS s FROM '{rundir.data}/*.parquet')"
            " ORDER BY id, s.index"
        ).fetchall()


def test_every_reader_sees_the_same_where_a_file_of_nulls_comes_first(
    rundir, write_part, build, tmp_path
):
    write_part(0, PROBLEMS, [SOLUTIONS[2]], [])  # no label, count or first error at all
    write_part(1, PROBLEMS, SOLUTIONS[:2], EVIDENCE)
    build([0, 1], settings=DatasetSettings(filters=(), shard_mb=1e-6))
    assert len(files(rundir)) == 2
    frame = pl.scan_parquet(rundir.data / "*.parquet").collect()
    # polars reads integers and floats by the same types; what differs is the time zone's class
    plain = [{**row, "provenance": None} for row in frame.to_dicts()]
    found = read_with_datasets(rundir, tmp_path / "cache")
    assert [{**row, "provenance": None} for row in found] == plain
    steps = frame.explode("steps").unnest("steps").sort("id", "index")
    columns = ["id", "first_error", "index", "hard_label", "soft_label", "text"]
    assert read_with_duckdb(rundir) == steps.select(columns).rows()
    assert steps["hard_label"].drop_nulls().to_list() == [
        label
        for row in sorted(plain, key=lambda row: row["id"])
        for label in (step["hard_label"] for step in row["steps"])
        if label is not None
    ]
    assert set(steps["hard_label"]) == {None, 0, 1}


def test_every_file_has_the_one_schema_and_its_version(rundir, write_part, build):
    write_part(0, PROBLEMS, [SOLUTIONS[2]], [])
    write_part(1, PROBLEMS, SOLUTIONS[:2], EVIDENCE)
    build([0, 1], settings=DatasetSettings(filters=(), shard_mb=1e-6))
    for name in files(rundir):
        schema = pq.read_schema(rundir.data / name)
        assert schema.equals(DATASET_SCHEMA)
        assert schema.metadata[VERSION_KEY] == DATASET_SCHEMA.metadata[VERSION_KEY]
        assert b"huggingface" in schema.metadata


def test_files_are_numbered_without_gaps_and_none_is_empty(rundir, write_part, build):
    write_part(0, PROBLEMS, [SOLUTIONS[3]], [])
    write_part(1, PROBLEMS, [], [])
    write_part(2, PROBLEMS, SOLUTIONS[:2], EVIDENCE)
    summary = build([0, 1, 2], settings=DatasetSettings(filters=(), shard_mb=1e-6))
    assert files(rundir) == ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"]
    assert (summary.files, summary.rows) == (2, 3)


def test_small_parts_share_a_file(rundir, write_part, build):
    for i, solution in enumerate(SOLUTIONS):
        write_part(i, PROBLEMS, [solution], [e for e in EVIDENCE if e.solution_id == solution.id])
    assert build(range(4)).files == 1
    assert len(rows(rundir)) == 4


def test_what_filters_drop_is_counted_by_reason(rundir, write_part, build):
    again = make_solution(PROBLEMS[0], ["2 + 2 ", "is  four.\n", "4\n"], RIGHT)
    empty = make_solution(PROBLEMS[2], [], WRONG)
    write_part(0, PROBLEMS, [*SOLUTIONS, again, empty], EVIDENCE)
    summary = build(settings=DatasetSettings())
    assert summary.dropped == {"duplicates": 1, "no-steps": 1, "outcome-unknown": 1}
    assert summary.rows == len(rows(rundir)) == 3
    assert build(settings=DatasetSettings(filters=("label-unknown",))).dropped == {
        "label-unknown": 2  # the empty one, and the one that was cut off
    }


def test_equal_text_under_another_problem_is_no_duplicate(rundir, write_part, build):
    twins = [make_solution(problem, ["4"], RIGHT) for problem in PROBLEMS]
    write_part(0, PROBLEMS, twins, [])
    assert build(settings=DatasetSettings()).rows == 3


def test_a_solution_stored_twice_keeps_its_own_steps(rundir, write_part, build):
    write_part(0, PROBLEMS, [SOLUTIONS[1], SOLUTIONS[1]], counts(SOLUTIONS[1], {0: (3, 8)}))
    build()
    assert [row["n_steps"] for row in rows(rundir)] == [3, 3]
    assert [len(row["steps"]) for row in rows(rundir)] == [3, 3]
    assert build(settings=DatasetSettings()).dropped["duplicates"] == 1


def test_a_solution_without_steps_has_an_empty_list(rundir, write_part, build):
    write_part(0, PROBLEMS, [make_solution(PROBLEMS[0], [], WRONG)], [])
    build()
    (row,) = rows(rundir)
    assert (row["steps"], row["n_steps"], row["first_error"]) == ([], 0, None)


def test_the_summary_counts_what_the_rows_hold(rundir, stored, build):
    metrics = build().as_metrics()
    found = rows(rundir)
    steps = [step for row in found for step in row["steps"]]
    hard = [step["hard_label"] for step in steps]
    assert metrics["rows"] == 4
    assert metrics["steps"] == len(steps) == 9
    assert metrics["hard"] == {"bad": hard.count(0), "good": hard.count(1)}
    assert metrics["unlabelled"] == {"after-error": 1, "not-probed": 1, "outcome-unknown": 1}
    assert sum(metrics["sources"].values()) + sum(metrics["unlabelled"].values()) == 9
    assert metrics["outcomes"] == {"correct": 2, "incorrect": 1, "unknown": 1}
    assert metrics["first_error"] == {"found": 1, "none": 2, "unknown": 1}
    assert metrics["problem_sources"] == {"made-up": 4}
    assert [p["steps"] for p in metrics["by_position"]] == [4, 3, 2]
    assert [p["mean_label"] for p in metrics["by_position"]] == [1.0, 0.5, 1.0]


def test_positions_far_to_the_right_are_counted_together(rundir, write_part, build):
    long = make_solution(PROBLEMS[0], ["x"] * 20, RIGHT)
    write_part(0, PROBLEMS, [long], [])
    last = build().as_metrics()["by_position"][-1]
    assert last == {"position": "12+", "steps": 8, "labelled": 8, "mean_label": 1.0}


def test_a_new_data_set_takes_the_place_of_the_old_one(rundir, stored, build):
    build(rule=HardRule())
    build(rule=SoftRule())
    assert {row["label_kind"] for row in rows(rundir)} == {"value"}
    assert [p.name for p in rundir.root.iterdir() if p.name.startswith(".data")] == []


def test_a_failure_leaves_the_old_data_set_as_it_was(rundir, stored, build):
    build()
    before = rows(rundir)
    with pytest.raises(UserError, match=r"there is no file .*part-00001"):
        build([0, 1])
    assert rows(rundir) == before
    assert [p.name for p in rundir.root.iterdir() if p.name.startswith(".data")] == []


def test_a_kill_between_the_two_renames_is_mended(rundir, stored, build):
    build()
    before = rows(rundir)
    rundir.data.rename(rundir.root / ".data-old")
    with pytest.raises(UserError):
        build([7])
    assert rows(rundir) == before


def test_nothing_left_is_an_empty_folder(rundir, write_part, build):
    write_part(0, PROBLEMS, [SOLUTIONS[2]], [])
    summary = build(settings=DatasetSettings())
    assert (summary.rows, summary.files, files(rundir)) == (0, 0, [])


def test_several_completers_must_be_told_apart(rundir, write_part, build):
    other = [replace(row, policy="policy-b", c=0) for row in EVIDENCE]
    write_part(0, PROBLEMS, SOLUTIONS, [*EVIDENCE, *other])
    with pytest.raises(UserError, match=r"dataset\.completer: policy-a, policy-b"):
        build()
    summary = build(settings=DatasetSettings(filters=(), completer="policy-b"))
    assert summary.hard["bad"] == 2
    assert {row["provenance"]["completer"]["fingerprint"] for row in rows(rundir)} == {"policy-b"}


def test_completers_that_change_from_part_to_part_are_not_mixed(rundir, write_part, build):
    write_part(0, PROBLEMS, SOLUTIONS[:1], counts(SOLUTIONS[0], {0: (1, 2)}))
    other = [replace(row, policy="policy-b") for row in counts(SOLUTIONS[1], {0: (1, 2)})]
    write_part(1, PROBLEMS, SOLUTIONS[1:2], other)
    with pytest.raises(UserError, match="2 policies"):
        build([0, 1])


def test_an_author_outside_the_run_is_named_by_its_fingerprint_only(rundir, write_part, build):
    given = make_solution(PROBLEMS[0], ["4"], RIGHT, policy="a person")
    write_part(0, PROBLEMS, [given], [])
    build()
    (row,) = rows(rundir)
    assert row["provenance"]["generator"]["fingerprint"] == "a person"
    assert row["provenance"]["generator"]["sampling"] is None
    assert row["provenance"]["completer"] is None


def test_a_solution_without_its_problem_is_named(rundir, write_part, build):
    write_part(0, PROBLEMS[1:], SOLUTIONS, [])
    with pytest.raises(UserError, match=f"belongs to problem '{PROBLEMS[0].id}'"):
        build()


@pytest.mark.parametrize(
    "spans", [[(0, 2), (3, 5)], [(0, 3), (2, 5)], [(0, 2), (2, 4)], [(1, 2), (2, 5)]]
)
def test_steps_that_do_not_join_to_the_text_are_refused(rundir, write_part, build, spans):
    sound = make_solution(PROBLEMS[0], ["abcde"], RIGHT)
    steps = tuple(Step(i, sound.text[a:b], a, b) for i, (a, b) in enumerate(spans))
    write_part(0, PROBLEMS, [replace(sound, steps=steps)], [])
    with pytest.raises(UserError, match=f"solution '{sound.id}': its steps do not join"):
        build()


def test_an_unknown_filter_is_refused_with_those_there_are():
    with pytest.raises(UserError, match="duplicates, label-unknown, no-steps, outcome-unknown"):
        DatasetSettings(filters=("dupes",))


def test_a_shard_has_a_size():
    with pytest.raises(ValidationError):
        DatasetSettings(shard_mb=0)

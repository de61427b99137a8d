"""Formats of trainers and benchmarks: what is written, what is refused, what comes back."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stepmill.errors import UserError
from stepmill.pipelines.exports.base import FORMATS, AfterError, ExportSettings, Refused
from stepmill.pipelines.exports.export import example_of, export
from stepmill.pipelines.exports.importing import import_file
from stepmill.pipelines.schema import DATASET_SCHEMA


def row(
    labels=(1, 0, None), *, texts=None, first_error: int | None = 1, prompt="2 + 3 + 4?", **changes
):
    """A canonical row with the columns that exports read."""
    texts = texts or [f"Step {i}: line {i}.\n" for i in range(1, len(labels) + 1)]
    steps = [
        {
            "index": i,
            "text": text,
            "hard_label": label if label in (None, 0, 1) else None,
            "soft_label": None if label in (None, 0, 1) else label,
        }
        for i, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    return {
        "id": "r1",
        "prompt": prompt,
        "solution": "".join(texts),
        "steps": steps,
        "first_error": first_error,
        "reference_answer": "9",
        "final_answer": "8",
        "final_correct": False,
        "source": "test",
        "provenance": {"generator": {"model": "tiny"}},
        **changes,
    }


def example(*args, after_error: AfterError = "truncate", **kwargs):
    return example_of(row(*args, **kwargs), ExportSettings(after_error=after_error))


@pytest.mark.parametrize(
    ("after_error", "labels"),
    [("truncate", [1, 0]), ("mask", [1, 0, -100]), ("zero", [1, 0, 0]), ("measured", [1, 0, 1])],
)
def test_trl_has_as_many_integer_labels_as_completions(after_error, labels):
    record = FORMATS["trl"].write(example((1, 0, 1), after_error=after_error))
    assert record["labels"] == labels
    assert all(type(label) is int for label in record["labels"])
    assert len(record["completions"]) == len(labels)
    assert record["completions"][0] == "Step 1: line 1."


def test_math_shepherd_marks_every_step_at_the_same_place_in_both_texts():
    record = FORMATS["math-shepherd"].write(example((1, 0, 0), after_error="measured"))
    assert record["input"] == (
        "2 + 3 + 4? Step 1: line 1. ки\nStep 2: line 2. ки\nStep 3: line 3. ки"
    )
    assert record["label"] == "2 + 3 + 4? Step 1: line 1. +\nStep 2: line 2. -\nStep 3: line 3. -"


def test_rlhflow_joins_the_problem_and_the_first_step_into_one_turn():
    turns = FORMATS["rlhflow"].write(example((1, 0)))["conversations"]
    assert turns == [
        {"content": "2 + 3 + 4? Step 1: line 1.", "role": "user"},
        {"content": "+", "role": "assistant"},
        {"content": "Step 2: line 2.", "role": "user"},
        {"content": "-", "role": "assistant"},
    ]


def test_qwen_ends_every_step_with_its_mark_and_may_carry_soft_labels():
    record = FORMATS["qwen"].write(example((0.75, 0.25), first_error=None))
    assert record["messages"][2]["content"] == ("Step 1: line 1.<extra_0>Step 2: line 2.<extra_0>")
    assert record["labels"] == [0.75, 0.25]


@pytest.mark.parametrize(("name", "mark"), [("math-shepherd", "ки"), ("qwen", "<extra_0>")])
def test_a_separator_inside_a_step_is_refused(name, mark):
    with pytest.raises(Refused, match="separator-in-text"):
        FORMATS[name].write(example((1, 0), texts=[f"a {mark} b", "c"]))


@pytest.mark.parametrize("name", ["math-shepherd", "rlhflow"])
def test_a_step_without_a_label_is_refused_where_nothing_can_say_so(name):
    with pytest.raises(Refused, match="step-without-label"):
        FORMATS[name].write(example((1, None, 0), first_error=None))


def test_an_unknown_first_error_is_no_processbench_row():
    with pytest.raises(Refused, match="first-error-unknown"):
        FORMATS["processbench"].write(example((1, None), first_error=None))


def written(path, name, records):
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records))
    return path


def imported_rows(tmp_path, name, records):
    out = tmp_path / "imported"
    assert import_file(written(tmp_path / "in.jsonl", name, records), name, out) == len(records)
    return pq.read_table(out / "data").to_pylist()


def run_of(tmp_path, rows, name="run"):
    """A run directory that holds just these rows."""
    root = tmp_path / name
    (root / "data").mkdir(parents=True)
    (root / "run.yaml").write_text("name: test\n")
    table = pa.Table.from_pylist(rows, schema=DATASET_SCHEMA)
    pq.write_table(table, root / "data" / "train-00000-of-00001.parquet")
    return root


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


PROCESSBENCH = [
    {
        "id": "a",
        "generator": "m",
        "problem": "1 + 1?",
        "steps": ["One.", "Two, with\n\na blank line.", "Three."],
        "final_answer_correct": False,
        "label": 1,
    },
    {
        "id": "b",
        "generator": "m",
        "problem": "2 + 2?",
        "steps": ["Four."],
        "final_answer_correct": True,
        "label": -1,
    },
    {
        "id": "c",
        "generator": "m",
        "problem": "3 + 3?",
        "steps": ["Six.", "Seven."],
        "final_answer_correct": True,
        "label": 0,
    },
]


def test_processbench_comes_back_with_the_same_first_errors(tmp_path):
    imported_rows(tmp_path, "processbench", PROCESSBENCH)
    out = tmp_path / "out.jsonl"
    done = export(
        tmp_path / "imported", "processbench", out, ExportSettings(after_error="measured")
    )
    assert done.rows == 3
    back = lines(out)
    for before, after in zip(PROCESSBENCH, back, strict=True):
        assert {k: v for k, v in after.items() if k != "id"} == {
            k: v for k, v in before.items() if k != "id"
        }
    assert process_f1(PROCESSBENCH, back) == 1.0


def process_f1(gold, predicted):
    """ProcessBench's score: harmonic mean of the accuracies on wrong and on right solutions."""
    wrong = [
        g["label"] == p["label"] for g, p in zip(gold, predicted, strict=True) if g["label"] != -1
    ]
    right = [
        g["label"] == p["label"] for g, p in zip(gold, predicted, strict=True) if g["label"] == -1
    ]
    a, b = sum(wrong) / len(wrong), sum(right) / len(right)
    return 2 * a * b / (a + b)


def test_prm800k_keeps_neutral_apart_from_good_and_bad(tmp_path):
    record = {
        "question": {"problem": "1 + 1?", "ground_truth_answer": "2"},
        "label": {
            "steps": [
                {
                    "completions": [
                        {"text": "Bad.", "rating": -1, "flagged": False},
                        {"text": "Good.", "rating": 1, "flagged": False},
                    ],
                    "human_completion": None,
                    "chosen_completion": 1,
                },
                {
                    "completions": [{"text": "Hm.", "rating": 0, "flagged": False}],
                    "human_completion": None,
                    "chosen_completion": 0,
                },
                {
                    "completions": [{"text": "No.", "rating": -1, "flagged": False}],
                    "human_completion": {"text": "Yes."},
                    "chosen_completion": None,
                },
                {
                    "completions": [{"text": "Wrong.", "rating": -1, "flagged": False}],
                    "human_completion": None,
                    "chosen_completion": None,
                },
            ],
            "finish_reason": "found_error",
        },
    }
    (found,) = imported_rows(tmp_path, "prm800k", [record])
    assert [s["text"].strip() for s in found["steps"]] == ["Good.", "Hm.", "Yes.", "Wrong."]
    assert [s["rating"] for s in found["steps"]] == [1, 0, 1, -1]
    assert [s["hard_label"] for s in found["steps"]] == [1, None, 1, 0]
    assert found["first_error"] == 3
    assert found["steps"][1]["label_reason"] == "neutral"


@pytest.mark.parametrize("name", ["math-shepherd", "prm800k"])
def test_labels_survive_export_and_import(tmp_path, name):
    rows = [
        row((1, 1, 0), first_error=2),
        row((1, 1), first_error=-1, id="r2", prompt="5 + 5?"),
    ]
    out = tmp_path / f"out.{FORMATS[name].file}"
    export(run_of(tmp_path, rows), name, out, ExportSettings())
    import_file(out, name, tmp_path / "back")
    back = pq.read_table(tmp_path / "back" / "data").to_pylist()
    for before, after in zip(rows, back, strict=True):
        assert after["prompt"] == before["prompt"]
        assert after["first_error"] == before["first_error"]
        assert [(s["text"].strip(), s["hard_label"]) for s in after["steps"]] == [
            (s["text"].strip(), s["hard_label"]) for s in before["steps"]
        ]


def test_soft_labels_are_refused_where_they_would_be_cut(tmp_path):
    root = run_of(tmp_path, [row((0.9, 0.2), first_error=None)])
    out = tmp_path / "out.parquet"
    with pytest.raises(UserError, match="soft labels"):
        export(root, "trl", out, ExportSettings())
    assert not out.exists()
    export(root, "trl", out, ExportSettings(threshold=0.5))
    assert pq.read_table(out).to_pylist()[0]["labels"] == [1, 0]


def test_refused_rows_are_counted_and_named(tmp_path):
    rows = [row((1, 0)), row((1, 0), id="bad", texts=["a ки", "b"])]
    done = export(run_of(tmp_path, rows), "math-shepherd", tmp_path / "o.jsonl", ExportSettings())
    assert done.rows == 1
    assert done.refused == {"separator-in-text": 1}
    assert done.refused_ids == ["bad: separator-in-text"]


def test_a_file_of_another_format_is_refused_by_its_line(tmp_path):
    path = written(tmp_path / "x.jsonl", "processbench", [PROCESSBENCH[0], {"problem": "?"}])
    with pytest.raises(UserError, match="line 2"):
        import_file(path, "processbench", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "line",
    [
        '{"problem": "\\ud800"}',
        '{"problem": 3}',
        '{"problem": ["a"]}',
        '{"steps": 3}',
        '{"label": "x"}',
        '{"label": null}',
    ],
)
def test_a_value_that_the_format_does_not_have_is_refused(tmp_path, line):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({**PROCESSBENCH[0], **json.loads(line)}) + "\n")
    with pytest.raises(UserError, match=r"x\.jsonl"):
        import_file(path, "processbench", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        import_file(tmp_path, "processbench", tmp_path / "out")
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(b'{"problem": "caf\xe9"}')
    with pytest.raises(UserError, match="not UTF-8"):
        import_file(latin, "processbench", tmp_path / "out")


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    root = run_of(tmp_path, [row((1, 0))])
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file" / "x.parquet", root):
        with pytest.raises(UserError, match="choose another --out"):
            export(root, "trl", out, ExportSettings())
    path = written(tmp_path / "x.jsonl", "processbench", PROCESSBENCH[:1])
    with pytest.raises(UserError, match="choose another --out"):
        import_file(path, "processbench", tmp_path / "file" / "out")


def test_nothing_is_made_where_there_is_no_run(tmp_path):
    root = tmp_path / "nope"
    with pytest.raises(UserError, match="not a run directory"):
        export(root, "trl", root / "export" / "trl.parquet", ExportSettings())
    assert not root.exists()

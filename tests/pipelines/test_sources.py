import json
import logging
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter, ValidationError

from stepmill import wordproblems
from stepmill.errors import UserError
from stepmill.pipelines.mappings import FieldMapping
from stepmill.pipelines.sources import (
    FileSettings,
    GeneratedSettings,
    HuggingFaceSettings,
    SampleSettings,
    SourceSettings,
    load_problems,
)
from stepmill.pipelines.tables import problems_from, problems_table
from stepmill.records import problem_id


def write_lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def numbers_only(answer):
    """Stands for the real check: what it takes is known at a glance."""
    return None if re.fullmatch(r"-?\d+", answer) else "unparsable"


def test_records_become_problems_in_their_order(tmp_path):
    path = write_lines(
        tmp_path / "q.jsonl",
        {"q": " What is 1 + 1? ", "a": 2, "n": "x/1", "subject": "sums", "level": 3, "more": "-"},
        {"q": "What is 2 + 2?", "a": "4", "n": "x/2", "subject": None, "level": None},
    )
    fields = FieldMapping(question="q", answer="a", id="n", domain="subject", meta=("level",))
    found = load_problems(
        FileSettings(path=path, fields=fields, name="sums", domain="maths", license="MIT")
    )
    first, second = found.problems
    assert first.id == problem_id("What is 1 + 1?", "2")
    assert (first.question, first.answer, first.domain) == ("What is 1 + 1?", "2", "sums")
    assert (first.source, first.license) == ("sums", "MIT")
    assert first.meta == {"id": "x/1", "level": "3"}
    assert (second.domain, second.meta) == ("maths", {"id": "x/2"})
    assert found.mapping == fields
    assert found.counts() == {}


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet"])
def test_every_format_gives_the_same_problems(tmp_path, ending):
    records = [{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(5)]
    path = tmp_path / f"q.{ending}"
    match ending:
        case "jsonl":
            write_lines(path, *records)
        case "json":
            path.write_text(json.dumps(records))
        case "csv":
            path.write_text(
                "question,answer\n" + "".join(f"{r['question']},{r['answer']}\n" for r in records)
            )
        case "parquet":
            pq.write_table(pa.Table.from_pylist(records), path)
    found = load_problems(FileSettings(path=str(path)))
    assert [(p.question, p.answer) for p in found.problems] == [
        (r["question"], r["answer"]) for r in records
    ]
    assert {p.source for p in found.problems} == {path.name}


def test_several_files_are_read_one_after_the_other(tmp_path):
    write_lines(tmp_path / "b.jsonl", {"question": "b?", "answer": "1"})
    write_lines(tmp_path / "a.jsonl", {"question": "a?", "answer": "1"})
    by_folder = load_problems(FileSettings(path=str(tmp_path)))
    assert [p.question for p in by_folder.problems] == ["a?", "b?"]
    by_list = load_problems(
        FileSettings(path=(str(tmp_path / "b.jsonl"), str(tmp_path / "a.jsonl")))
    )
    assert [p.question for p in by_list.problems] == ["b?", "a?"]


def test_what_cannot_be_run_is_set_aside_with_its_reason(tmp_path, caplog):
    path = write_lines(
        tmp_path / "q.jsonl",
        {"id": "s/1", "question": "a?", "answer": "1"},
        {"id": "s/2", "question": "  ", "answer": "1"},
        {"id": "s/3", "answer": "1"},
        {"id": "s/4", "question": "b?", "answer": ""},
        {"id": "s/5", "question": "c?", "answer": "notfound"},
        {"id": "s/6", "question": "d?", "answer": "one half"},
        {"id": "s/7", "question": "a? \n", "answer": "1"},
        {"id": "s/8", "question": " a?", "answer": "2"},
        {"id": "s/9", "question": "e\ud800?", "answer": "2"},
        {"question": "f?", "answer": "2"},
    )
    found = load_problems(FileSettings(path=path), lint=numbers_only)
    first = problem_id("a?", "1")
    assert [p.question for p in found.problems] == ["a?", "f?"]
    assert [(s.record.removeprefix(str(path)), s.reason, s.detail) for s in found.set_aside] == [
        (":2 (id 's/2')", "no-question", "column 'question' is empty or missing"),
        (":3 (id 's/3')", "no-question", "column 'question' is empty or missing"),
        (":4 (id 's/4')", "no-reference", "column 'answer' holds ''"),
        (":5 (id 's/5')", "no-reference", "column 'answer' holds 'notfound'"),
        (":6 (id 's/6')", "unparsable", "the reference is 'one half'"),
        (":7 (id 's/7')", "duplicate", f"same question as problem {first}"),
        (":8 (id 's/8')", "duplicate", f"same question as problem {first}, whose reference is '1'"),
        (":9", "not-text", "column 'question' holds half a surrogate pair, which is no character"),
    ]
    assert found.counts() == {
        "no-question": 2,
        "no-reference": 2,
        "unparsable": 1,
        "duplicate": 2,
        "not-text": 1,
    }
    assert "q.jsonl: 2 problems; set aside: 2 no-question, 2 no-reference" in caplog.text


def test_a_question_must_be_whole(tmp_path):
    path = write_lines(
        tmp_path / "q.jsonl",
        {"question": "Which?", "options": ["A) 1", "B) 2"], "answer": "A"},
        {"question": "Which?", "options": [], "answer": "A"},
    )
    fields = FieldMapping(question=("question", "options"), answer="answer")
    found = load_problems(FileSettings(path=path, fields=fields))
    assert [p.question for p in found.problems] == ["Which?\nA) 1\nB) 2"]
    assert found.set_aside[0].detail == "column 'options' is empty or missing"


def test_problems_without_reference_are_kept_on_demand(tmp_path):
    path = write_lines(
        tmp_path / "q.jsonl",
        {"question": "a?", "answer": "proof"},
        {"question": "b?", "answer": "x"},
    )
    found = load_problems(FileSettings(path=path, unanswered="keep"), lint=numbers_only)
    assert [(p.question, p.answer) for p in found.problems] == [("a?", None)]
    assert found.counts() == {"unparsable": 1}


def test_references_of_any_form_are_taken_on_demand(tmp_path):
    path = write_lines(tmp_path / "q.jsonl", {"question": "a?", "answer": "Paris"})
    assert load_problems(FileSettings(path=path), lint=numbers_only).problems == []
    kept = load_problems(FileSettings(path=path, references="any"), lint=numbers_only)
    assert [p.answer for p in kept.problems] == ["Paris"]


def test_the_limit_counts_problems_and_ends_the_reading(tmp_path):
    good = [{"question": f"{i}?", "answer": str(i)} for i in range(200)]
    path = tmp_path / "q.jsonl"
    write_lines(path, {"question": "", "answer": ""}, *good)
    path.write_text(path.read_text() + "broken")
    found = load_problems(FileSettings(path=str(path), limit=150))
    assert [p.question for p in found.problems] == [f"{i}?" for i in range(150)]
    with pytest.raises(UserError, match=r"q.jsonl:202: not valid JSON"):
        load_problems(FileSettings(path=str(path)))


def test_a_source_that_grows_only_adds_problems(tmp_path):
    records = [{"question": f"{i % 7}?", "answer": str(i)} for i in range(20)]
    before = load_problems(FileSettings(path=write_lines(tmp_path / "a.jsonl", *records[:10])))
    after = load_problems(FileSettings(path=write_lines(tmp_path / "b.jsonl", *records)))
    ids = [p.id for p in after.problems]
    assert ids[: len(before.problems)] == [p.id for p in before.problems]


def test_an_empty_source_has_no_problems(tmp_path):
    (tmp_path / "q.jsonl").write_text("")
    found = load_problems(FileSettings(path=str(tmp_path / "q.jsonl")))
    assert (found.problems, found.set_aside, found.mapping) == ([], [], None)


def test_a_wrong_column_is_named_with_the_file(tmp_path):
    path = write_lines(tmp_path / "q.jsonl", {"question": "a?", "answer": "1"})
    fields = FieldMapping(question="questoin", answer="answer")
    with pytest.raises(UserError, match=r"q.jsonl has no column 'questoin'.*'question'"):
        load_problems(FileSettings(path=path, fields=fields))


def test_a_column_may_be_missing_in_the_first_record(tmp_path):
    path = write_lines(tmp_path / "q.jsonl", {"question": "a?"}, {"question": "b?", "answer": "1"})
    found = load_problems(FileSettings(path=path))
    assert [p.question for p in found.problems] == ["b?"]
    assert found.counts() == {"no-reference": 1}


def test_the_columns_that_were_found_are_said_in_the_log(tmp_path, caplog):
    path = write_lines(tmp_path / "q.jsonl", {"problem": "a?", "solution": r"\boxed{1}"})
    with caplog.at_level(logging.INFO):
        load_problems(FileSettings(path=path))
    assert (
        "q.jsonl: question from column 'problem', reference from 'solution' (boxed)" in caplog.text
    )


def test_problems_that_a_run_wrote_are_read_back_the_same(tmp_path):
    written = load_problems(GeneratedSettings(n=5)).problems
    pq.write_table(problems_table(written), tmp_path / "part-00000.parquet")
    read = load_problems(FileSettings(path=str(tmp_path), mapping="stepmill")).problems
    assert [(p.id, p.question, p.answer, p.source, p.license) for p in read] == [
        (p.id, p.question, p.answer, p.source, p.license) for p in written
    ]
    assert problems_from(problems_table(read)) == read


def test_generated_problems_are_our_own_word_problems():
    settings = GeneratedSettings(n=6, seed=3, min_steps=2, max_steps=4)
    problems = load_problems(settings).problems
    drawn = wordproblems.generate(3, 6, 2, 4)
    assert [(p.question, p.answer) for p in problems] == [
        (d.question, str(d.answer)) for d in drawn
    ]
    assert [p.meta["operations"] for p in problems] == [str(len(d.steps)) for d in drawn]
    limited = load_problems(settings.model_copy(update={"limit": 2})).problems
    assert limited == problems[:2]


def test_the_sample_has_twenty_answered_questions_with_their_licence():
    found = load_problems(SampleSettings(), lint=numbers_only)
    assert len(found.problems) == 20
    assert found.set_aside == []
    assert {p.license for p in found.problems} == {"MIT"}
    assert load_problems(SampleSettings(limit=3)).problems == found.problems[:3]


def test_a_hugging_face_data_set_is_loaded_with_its_split(tmp_path, monkeypatch):
    from datasets import config

    monkeypatch.setattr(config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "set"
    folder.mkdir()
    write_lines(folder / "train.jsonl", {"question": "a?", "answer": "1"})
    write_lines(folder / "test.jsonl", {"question": "b?", "answer": "2"})
    found = load_problems(HuggingFaceSettings(dataset=str(folder), split="test", name="ours"))
    assert [(p.question, p.answer, p.source) for p in found.problems] == [("b?", "2", "ours")]
    with pytest.raises(UserError, match=r"split dev, revision None\) cannot be loaded"):
        load_problems(HuggingFaceSettings(dataset=str(folder), split="dev"))


def test_settings_are_chosen_by_kind_and_checked():
    adapter: TypeAdapter[SourceSettings] = TypeAdapter(SourceSettings)
    assert adapter.validate_python({"kind": "generated", "n": 3}) == GeneratedSettings(n=3)
    assert adapter.validate_python({"kind": "sample", "sample": "gsm8k"}) == SampleSettings()
    for wrong in (
        {"kind": "file"},
        {"kind": "file", "path": ""},
        {"kind": "file", "path": []},
        {"kind": "file", "path": "q", "mapping": "math", "fields": {"question": "q"}},
        {"kind": "generated", "min_steps": 5, "max_steps": 4},
        {"kind": "sample", "sample": "other"},
        {"kind": "files", "path": "q"},
    ):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)

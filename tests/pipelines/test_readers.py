import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stepmill.errors import UserError
from stepmill.pipelines.readers import find_files, read_rows, text_of


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(path):
    return [(row.place.removeprefix(str(path)), dict(row.values)) for row in read_rows(path)]


def test_json_lines_keep_numbers_as_written_and_other_line_separators(tmp_path):
    path = write(
        tmp_path / "q.jsonl", '\ufeff{"a": 1.50, "b": 1e400}\n\n{"a": "x\u2028y"}\r\n{"a": true}'
    )
    assert rows(path) == [
        (":1", {"a": "1.50", "b": "1e400"}),
        (":3", {"a": "x\u2028y"}),
        (":4", {"a": True}),
    ]


@pytest.mark.parametrize("text", ['[{"a": 1},\n {"a": 2}\n]\n', '{"a": 1}\n{"a": 2}\n'])
def test_a_json_file_is_a_list_or_one_object_per_line(tmp_path, text):
    path = write(tmp_path / "q.json", text)
    assert rows(path) == [(":1", {"a": "1"}), (":2", {"a": "2"})]


def test_an_empty_list_has_no_rows(tmp_path):
    assert rows(write(tmp_path / "q.json", " [ ] ")) == []


def test_separated_values_may_hold_line_breaks(tmp_path):
    path = write(tmp_path / "q.csv", '\ufeffa,b\n"x\ny, z",1.50\n,2\n')
    assert rows(path) == [(":3", {"a": "x\ny, z", "b": "1.50"}), (":4", {"a": "", "b": "2"})]
    assert rows(write(tmp_path / "q.tsv", "a\tb\nx, y\t1\n")) == [(":2", {"a": "x, y", "b": "1"})]


def test_separated_values_may_be_long(tmp_path):
    long = "x" * 200_000
    assert rows(write(tmp_path / "q.csv", f"a\n{long}\n")) == [(":2", {"a": long})]


def test_parquet_rows_keep_their_values(tmp_path):
    path = tmp_path / "q.parquet"
    pq.write_table(pa.table({"a": ["x", None], "b": [1.5, float("nan")]}), path)
    first, second = rows(path)
    assert first == (": row 1", {"a": "x", "b": 1.5})
    assert second[1]["a"] is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.jsonl", '{"a": 1}\n{"a": \n', "q.jsonl:2: not valid JSON: Expecting value"),
        ("q.jsonl", '{"a": 1}\n[1]\n', "q.jsonl:2: expected an object with keys, got list"),
        ("q.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "q.jsonl:2: not UTF-8"),
        ("q.jsonl", "[" * 100_000, "q.jsonl:1: nested too deeply"),
        ("q.json", '[{"a": 1},\n {"a": }]', "q.json:2: not valid JSON: Expecting value"),
        ("q.json", '[{"a": 1}\n {"a": 2}]', "expected ',' or ']' after .*q.json:1"),
        ("q.json", '[{"a": 1}, 3]', "q.json:1: expected an object with keys, got str"),
        ("q.json", "[" * 100_000, "q.json:1: nested too deeply"),
        ("q.json", '[{"a": 1}', "expected ',' or ']'"),
        ("q.json", "3", "expected a list of objects"),
        ("q.json", b'["\xff"]', "not UTF-8"),
        ("q.csv", "a,b\n1,2,3\n", "q.csv:2: more fields than the 2 of the header"),
        ("q.csv", 'a,b\n1,"2\n', "q.csv:2: not valid CSV"),
        ("q.csv", b"a\n\xff\n", "not UTF-8"),
        ("q.parquet", "a", "not a Parquet file"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, name, content, message):
    with pytest.raises(UserError, match=message):
        rows(write(tmp_path / name, content))


def test_a_folder_stands_for_its_readable_files_in_order(tmp_path):
    for name in ("b.jsonl", "a.csv", "sub/c.parquet", "notes.txt", ".cache/d.jsonl", ".e.json"):
        write(tmp_path / name, "")
    assert [str(f.relative_to(tmp_path)) for f in find_files(str(tmp_path))] == [
        "a.csv",
        "b.jsonl",
        "sub/c.parquet",
    ]
    assert find_files(f"{tmp_path}/*.jsonl") == [tmp_path / "b.jsonl"]
    assert len(find_files(f"{tmp_path}/**/*.parquet")) == 1


def test_a_file_whose_name_looks_like_a_pattern_is_found(tmp_path):
    path = write(tmp_path / "q[1].jsonl", "")
    assert find_files(str(path)) == [path]


def test_what_is_not_there_is_said_with_the_nearest_name(tmp_path):
    write(tmp_path / "questions.jsonl", "")
    write(tmp_path / "notes.txt", "")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"no file or folder .*Did you mean 'questions.jsonl'"):
        find_files(str(tmp_path / "question.jsonl"))
    with pytest.raises(UserError, match="no file or folder"):
        find_files(str(tmp_path / "no" / "such" / "folder.jsonl"))
    with pytest.raises(UserError, match="no file matches"):
        find_files(str(tmp_path / "*.csv"))
    with pytest.raises(UserError, match=r"unknown format; known by their endings: \.jsonl"):
        find_files(str(tmp_path / "notes.txt"))
    with pytest.raises(UserError, match="holds no file of a known format"):
        find_files(str(tmp_path / "empty"))


def test_a_file_that_may_not_be_read_is_a_clear_error(tmp_path):
    (tmp_path / "q.jsonl").mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        rows(tmp_path / "q.jsonl")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (float("nan"), None),
        ("é", "é"),
        (18, "18"),
        (0.5, "0.5"),
        (True, "True"),
        (["A) x", "B) y"], "A) x\nB) y"),
        ({"a": "é"}, '{"a": "é"}'),
    ],
)
def test_values_become_text(value, text):
    assert text_of(value) == text


def test_a_long_list_is_read_object_by_object(tmp_path):
    items = [{"a": str(i), "b": "x" * 50} for i in range(5000)]
    path = write(tmp_path / "q.json", json.dumps(items, indent=1))
    places = [place for place, _ in rows(path)]
    assert places[0] == ":2"
    assert places[-1] == f":{2 + 4999 * 4}"

import random
import resource
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.pipelines.conftest import make_problem

from stepmill.errors import UserError
from stepmill.pipelines import parquet
from stepmill.pipelines.parquet import TableWriter, read_table, write_table_atomic
from stepmill.pipelines.schema import EVIDENCE_SCHEMA, PROBLEMS_SCHEMA, VERSION_KEY
from stepmill.pipelines.tables import problems_table


def table(*questions):
    return problems_table([make_problem(q) for q in questions])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "part-00000.parquet"


def test_a_table_reads_back_with_its_schema_and_metadata(path):
    write_table_atomic(path, table("a", "b"))
    back = read_table(path, PROBLEMS_SCHEMA)
    assert back.equals(table("a", "b"))
    assert back.schema.equals(PROBLEMS_SCHEMA)
    assert b"huggingface" in back.schema.metadata


def test_only_the_file_itself_is_left(path):
    write_table_atomic(path, table("a"))
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_failure_half_way_leaves_the_older_file_as_it_was(path):
    write_table_atomic(path, table("old"))
    with suppress(KeyboardInterrupt), TableWriter(path, PROBLEMS_SCHEMA) as out:
        out.write(table("new"))
        raise KeyboardInterrupt
    assert read_table(path, PROBLEMS_SCHEMA).equals(table("old"))
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.fixture
def full_disk():
    """No file may grow beyond 8 kB, as on a disk that fills up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_older_file_as_it_was(path, full_disk):
    write_table_atomic(path, table("old"))
    noise = table(*(random.Random(i).randbytes(500).hex() for i in range(100)))
    with pytest.raises(OSError, match="File too large"):
        write_table_atomic(path, noise)
    assert read_table(path, PROBLEMS_SCHEMA).equals(table("old"))
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_leftover_of_a_killed_writer_is_written_over(path):
    path.with_name(f".{path.name}.tmp").write_bytes(b"torn")
    write_table_atomic(path, table("a"))
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_null_where_the_schema_wants_a_value_is_refused(path):
    row = {**table("a").to_pylist()[0], "question": None}
    broken = pa.Table.from_pylist([row], schema=PROBLEMS_SCHEMA)
    with pytest.raises(pa.ArrowInvalid, match="null"):
        write_table_atomic(path, broken)
    assert not path.exists()


def test_rows_of_another_schema_are_refused(path):
    with (
        pytest.raises(ValueError, match="another schema"),
        TableWriter(path, EVIDENCE_SCHEMA) as out,
    ):
        out.write(table("a"))


def test_an_empty_table_is_a_file_with_the_schema(path):
    write_table_atomic(path, table())
    assert read_table(path, PROBLEMS_SCHEMA).num_rows == 0


def test_row_groups_stay_below_the_limit_and_small_portions_share_one(path, monkeypatch):
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES", 4000)
    with TableWriter(path, PROBLEMS_SCHEMA) as out:
        for i in range(100):
            out.write(table(f"{i:03d} {'x' * 96}"))
    stored = pq.ParquetFile(path)
    groups = [stored.read_row_group(i) for i in range(stored.num_row_groups)]
    assert 1 < len(groups) < 20
    assert max(group.nbytes for group in groups) <= 4200  # offsets and padding add a little
    assert out.n_rows == sum(group.num_rows for group in groups) == 100


def test_files_are_zstd_with_a_page_index(path):
    write_table_atomic(path, table("a"))
    column = pq.read_metadata(path).row_group(0).column(0)
    assert column.compression == "ZSTD"
    assert column.has_column_index
    assert column.has_offset_index


def test_columns_can_be_chosen(path):
    write_table_atomic(path, table("a"))
    assert read_table(path, PROBLEMS_SCHEMA, ["question"]).column_names == ["question"]


def rewrite(path, version):
    metadata = {**PROBLEMS_SCHEMA.metadata, VERSION_KEY: version}
    extended = table("a").append_column("later", pa.array([1])).replace_schema_metadata(metadata)
    pq.write_table(extended, path)


def test_a_newer_minor_version_is_read_without_what_it_added(path):
    rewrite(path, b"1.9")
    assert read_table(path, PROBLEMS_SCHEMA).equals(table("a"))


def test_a_newer_major_version_is_refused(path):
    rewrite(path, b"2.0")
    with pytest.raises(UserError, match=r"schema version 2\.0, newer than 1\.0.*update"):
        read_table(path, PROBLEMS_SCHEMA)


def test_another_table_is_refused(path):
    write_table_atomic(path, table("a"))
    with pytest.raises(UserError, match="holds problems; expected evidence"):
        read_table(path, EVIDENCE_SCHEMA)


def test_a_foreign_file_is_refused(path):
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(UserError, match="did not write; expected problems"):
        read_table(path, PROBLEMS_SCHEMA)


def test_a_missing_or_damaged_file_is_named(path):
    with pytest.raises(UserError, match=r"there is no file .*part-00000"):
        read_table(path, PROBLEMS_SCHEMA)
    path.write_bytes(b"PAR1 torn")
    with pytest.raises(UserError, match=r"part-00000\.parquet is not a sound Parquet file"):
        read_table(path, PROBLEMS_SCHEMA)

import errno
import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.errors import UserError
from stepmill.pipelines import journal
from stepmill.pipelines.journal import Journal, Record, encode


def opened(path):
    """A journal and the records that it found."""
    found: list[Record] = []
    return Journal(path, found.append), found


def read(path):
    """The records of a closed journal."""
    writer, found = opened(path)
    writer.close()
    return found


def write(path, *batches):
    writer, _ = opened(path)
    for batch in batches:
        writer.append(batch)
    writer.close()


ANY_TEXT = st.text(st.characters())  # lone surrogates and NUL too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=5,
)
RECORDS = st.lists(st.dictionaries(ANY_TEXT, VALUES, max_size=3), max_size=6)


@given(batches=st.lists(RECORDS, max_size=3))
def test_what_is_appended_is_found_again(tmp_path_factory, batches):
    path = tmp_path_factory.mktemp("j") / "journal"
    write(path, *batches)
    assert read(path) == [record for batch in batches for record in batch]


@given(records=RECORDS, more=RECORDS, data=st.data())
def test_a_journal_cut_at_any_byte_is_read_to_its_last_whole_record_and_goes_on_from_there(
    tmp_path_factory, records, more, data
):
    path = tmp_path_factory.mktemp("j") / "journal"
    write(path, records)
    cut = data.draw(st.integers(0, path.stat().st_size))
    os.truncate(path, cut)
    ends = [sum(len(encode(r)) for r in records[: i + 1]) for i in range(len(records))]
    whole = records[: sum(end <= cut for end in ends)]

    writer, found = opened(path)
    assert found == whole
    writer.append(more)
    writer.close()
    assert read(path) == whole + more


@given(records=RECORDS.filter(bool), place=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_reading_ends_before_a_record_with_a_flipped_byte(tmp_path_factory, records, place, flip):
    path = tmp_path_factory.mktemp("j") / "journal"
    write(path, records)
    content = bytearray(path.read_bytes())
    place %= len(content)
    content[place] ^= flip
    path.write_bytes(content)
    ends = [sum(len(encode(r)) for r in records[: i + 1]) for i in range(len(records))]
    assert read(path) == records[: sum(end <= place for end in ends)]


def test_texts_keep_every_character(tmp_path):
    halves = "\ud83d", "\ude00"  # together an emoji; apart they must stay apart
    texts = ["".join(halves), *halves, "\0", "a\nb\r\u2028c", "\U0001f600", '"\\']
    write(tmp_path / "j", [{"texts": texts}])
    assert read(tmp_path / "j") == [{"texts": texts}]


def test_a_log_probability_may_be_infinite(tmp_path):
    write(tmp_path / "j", [{"logprobs": [-0.5, float("-inf")]}])
    assert read(tmp_path / "j") == [{"logprobs": [-0.5, float("-inf")]}]


def test_a_torn_record_is_cut_off_the_file(tmp_path):
    path = tmp_path / "j"
    path.write_bytes(encode({"a": 1}) + encode({"b": 2})[:-1])
    assert read(path) == [{"a": 1}]
    assert path.read_bytes() == encode({"a": 1})


def test_zeros_that_a_power_cut_left_behind_are_no_records(tmp_path):
    path = tmp_path / "j"
    path.write_bytes(encode({"a": 1}) + bytes(5000))
    assert read(path) == [{"a": 1}]


def test_a_full_disk_is_raised_and_leaves_the_journal_as_it_was(tmp_path, monkeypatch):
    writer, _ = opened(tmp_path / "j")
    writer.append([{"a": 1}])
    real = os.write

    def nearly_full(fd, data):
        if len(data) <= 4:
            raise OSError(errno.ENOSPC, "no space")
        return real(fd, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", nearly_full)
    with pytest.raises(OSError, match="no space"):
        writer.append([{"b": 2}, {"c": 3}])
    monkeypatch.undo()
    assert (tmp_path / "j").read_bytes() == encode({"a": 1})
    writer.append([{"d": 4}])
    writer.close()
    assert read(tmp_path / "j") == [{"a": 1}, {"d": 4}]


def test_a_short_write_is_continued(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:3]))
    write(tmp_path / "j", [{"a": 1}, {"b": 2}])
    assert read(tmp_path / "j") == [{"a": 1}, {"b": 2}]


def test_a_power_cut_loses_a_bounded_number_of_bytes(tmp_path, monkeypatch):
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(journal, "SYNC_EVERY_BYTES", 2 * len(encode({"a": 1})))
    writer, _ = opened(tmp_path / "j")
    counts = []
    for _ in range(5):
        writer.append([{"a": 1}])
        counts.append(len(synced))
    assert counts == [0, 1, 1, 2, 2]
    writer.close()
    assert len(synced) == 3


def test_an_append_after_closing_fails_and_touches_no_other_file(tmp_path):
    writer, _ = opened(tmp_path / "j")
    writer.close()
    with (tmp_path / "other").open("w") as other:  # gets the number that the journal had
        with pytest.raises(OSError, match="Bad file descriptor"):
            writer.append([{"a": 1}])
        assert other.tell() == 0
    assert (tmp_path / "other").read_bytes() == b""


HOLDER = """
import os, sys, time
from pathlib import Path
from stepmill.pipelines.journal import Journal

writer = Journal(Path(sys.argv[1]), print)
child = os.fork() if sys.argv[2] == "fork" else 0
if child or sys.argv[2] != "fork":
    print(child, flush=True)
time.sleep(600)
"""


def hold(path, fork="no"):
    """A process that holds a journal open, and the child that it forked then, if any."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), fork], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_a_journal_has_one_writer_until_that_process_dies(tmp_path):
    path = tmp_path / "j"
    process, _ = hold(path)
    try:
        with pytest.raises(UserError, match=r"another process is writing .*/j; wait for it"):
            opened(path)
    finally:
        process.kill()
        process.communicate()
    write(path, [{"a": 1}])
    assert read(path) == [{"a": 1}]


def test_a_child_that_outlives_a_killed_writer_does_not_hold_the_journal(tmp_path):
    process, child = hold(tmp_path / "j", "fork")
    try:
        process.kill()
        process.wait()
        write(tmp_path / "j", [{"a": 1}])
    finally:
        os.kill(child, signal.SIGKILL)
        process.communicate()
    assert read(tmp_path / "j") == [{"a": 1}]


def test_a_record_that_cannot_be_loaded_leaves_the_journal_closed(tmp_path):
    def refuse(record):
        raise KeyError("at")

    write(tmp_path / "j", [{"a": 1}])
    before = os.listdir("/proc/self/fd")
    with pytest.raises(KeyError):
        Journal(tmp_path / "j", refuse)
    assert os.listdir("/proc/self/fd") == before

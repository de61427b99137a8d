"""An append-only file of records that survives SIGKILL at any byte.

One record is one line: eight hex digits of CRC-32, a space, and a JSON object. A record is written
by a single `write`, so a killed process leaves whole lines and at most one torn one at the end; the
next writer cuts that off. The journal knows nothing of what the records mean.
"""

import fcntl
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from stepmill.errors import UserError

Record = dict[str, Any]

SYNC_EVERY_BYTES = 4 << 20
"""Written bytes between two fsyncs: a kill loses nothing, a power cut at most this much."""

# Texts keep lone surrogates: unescaped, as two halves of a pair would join when read back.
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode(record: Record) -> bytes:
    """One line of the journal. Infinite numbers are allowed: a log-probability can be one."""
    data = _to_json(record).encode("utf-8", "surrogatepass")
    return b"%08x %b\n" % (zlib.crc32(data), data)


def decode(line: bytes) -> Record | None:
    """The record of one line, or None when the line is torn or damaged."""
    if len(line) < 10 or line[8:9] != b" " or not line.endswith(b"\n"):
        return None
    data = line[9:-1]
    if line[:8] != b"%08x" % zlib.crc32(data):
        return None
    record: Record = json.loads(data.decode("utf-8", "surrogatepass"))
    return record


def sound(lines: Iterable[bytes]) -> Iterator[tuple[Record, int]]:
    """The records of `lines` up to the first damaged one, each with the offset where it ends.

    What follows a damaged line was written by a machine that lost power, and is paid for again.
    """
    end = 0
    for line in lines:
        record = decode(line)
        if record is None:
            return
        end += len(line)
        yield record, end


class Journal:
    """Appends records to one file; opening it cuts off a torn tail.

    Args:
        path: the file; its folder exists.
        load: told of each sound record that is there already, in order.

    Raises:
        UserError: another process writes this file.
    """

    def __init__(self, path: Path, load: Callable[[Record], object]) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._end = 0
        self._unsynced = 0
        try:
            self._lock(path)
            # Through this descriptor: closing any other of this file would give up the lock.
            with open(self._fd, "rb", closefd=False) as file:
                for record, self._end in sound(file):
                    load(record)
            self._cut()
        except BaseException:
            os.close(self._fd)
            raise

    def _lock(self, path: Path) -> None:
        """Lock the file until it is closed or we die."""
        try:  # not flock: child processes inherit it, and one that outlives us would hold it
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise UserError(
                f"another process is writing {path}; wait for it, stop it, or choose another --out"
            ) from None

    def _cut(self) -> None:
        """Drop what lies behind the last whole record, and go there."""
        os.ftruncate(self._fd, self._end)
        os.lseek(self._fd, self._end, os.SEEK_SET)

    def append(self, records: Iterable[Record]) -> None:
        """Write records; they survive a kill of this process as soon as this returns.

        Raises:
            OSError: the disk took only a part (it is full); the part is cut off again.
        """
        data = b"".join(map(encode, records))
        try:
            written = 0
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError:
            self._cut()
            raise
        self._end += len(data)
        self._unsynced += len(data)
        if self._unsynced >= SYNC_EVERY_BYTES:
            self.sync()

    def sync(self) -> None:
        """Bring everything to the disk itself."""
        os.fsync(self._fd)
        self._unsynced = 0

    def close(self) -> None:
        """Sync and close; whatever is appended later fails."""
        fd, self._fd = self._fd, -1  # the number may soon be another file's
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

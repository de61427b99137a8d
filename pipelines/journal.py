"""An append-only file of records that survives SIGKILL at any byte.

One record is one line: eight hex digits of CRC-32, a space, and a JSON object. A record is written
by a single `write`, so a killed process leaves whole lines and at most one torn one at the end; the
next writer cuts that off. The journal knows nothing of what the records mean.
"""

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]

SYNC_EVERY_BYTES = 4 << 20
"""Written bytes between two fsyncs: a kill loses nothing, a power cut at most this much."""


def encode(record: Record) -> bytes:
    """One line of the journal."""
    body = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = body.encode("utf-8", "surrogatepass")
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


def read(path: Path) -> Iterator[tuple[Record, int]]:
    """The sound records from the start of `path`, each with the offset where it ends.

    Reading ends at the first damaged line: what follows it was written by a machine that lost
    power, and is paid for again. A missing file holds no records.
    """
    if not path.exists():
        return
    end = 0
    with path.open("rb") as file:
        for line in file:
            record = decode(line)
            if record is None:
                return
            end += len(line)
            yield record, end


class Journal:
    """Appends records to one file; opening it cuts off a torn tail.

    Args:
        path: the file; its folder exists.
        end: offset after the last sound record, as `read` gave it; what lies behind is dropped.
    """

    def __init__(self, path: Path, end: int) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(self._fd, end)
        os.lseek(self._fd, end, os.SEEK_SET)
        self._end = end
        self._unsynced = 0

    def append(self, records: list[Record]) -> None:
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
            os.ftruncate(self._fd, self._end)
            os.lseek(self._fd, self._end, os.SEEK_SET)
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
        """Sync and close."""
        self.sync()
        os.close(self._fd)

"""Parquet files that are there whole or not at all, written with the schemas of schema.py.

Rows go to a temporary file in the same folder; it is synced, read back, renamed, and the folder is
synced. One process writes a path at a time. Row groups stay below 100 MB in memory, which the Hub's
viewer asks for; page index and content-defined chunks let it read and store parts of a file.
"""

import inspect
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from stepmill.errors import StepmillError, UserError
from stepmill.pipelines.schema import SCHEMA_VERSION, TABLE_KEY, VERSION_KEY

ROW_GROUP_BYTES = 100_000_000
"""Size of a row group in memory, at most."""

_OPTIONS: dict[str, Any] = {"compression": "zstd", "write_page_index": True}
if "use_content_defined_chunking" in inspect.signature(pq.ParquetWriter.__init__).parameters:
    _OPTIONS["use_content_defined_chunking"] = True  # pyarrow 21 and newer


class TableWriter:
    """Writes one Parquet file, in as many portions as it takes; a context manager.

    Leaving the context normally commits the file; leaving it by an exception removes the
    temporary file and leaves an older file at `path` as it was.

    Args:
        path: the file; its folder must exist.
        schema: one of schema.py's; every portion must have it.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.n_rows = 0
        self._schema = schema
        self._temporary = path.with_name(f".{path.name}.tmp")
        self._file = self._temporary.open("wb")
        self._writer = pq.ParquetWriter(self._file, schema, **_OPTIONS)
        self._pending: list[pa.Table] = []
        self._pending_bytes = 0

    def write(self, table: pa.Table) -> None:
        """Add rows; they are held back until a row group is full."""
        if not table.schema.equals(self._schema):
            raise ValueError(f"{self.path}: rows of another schema: {table.schema}")
        self._pending.append(table)
        self._pending_bytes += table.nbytes
        self.n_rows += table.num_rows
        if self._pending_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        table = pa.concat_tables(self._pending)
        per_group = table.num_rows * ROW_GROUP_BYTES // max(table.nbytes, 1)
        self._writer.write_table(table, row_group_size=max(1, per_group))
        self._pending, self._pending_bytes = [], 0

    def _commit(self) -> None:
        if self._pending:
            self._flush()
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        written = pq.read_schema(self._temporary)
        if not (written.equals(self._schema) and _tag(written) == _tag(self._schema)):
            raise StepmillError(f"{self.path} reads back with another schema than it was given")
        self._temporary.replace(self.path)
        sync_folder(self.path.parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            for each in (self._writer, self._file):
                with suppress(OSError):  # a full disk refuses the last bytes of a file we drop
                    each.close()
            self._temporary.unlink(missing_ok=True)


def write_table_atomic(path: Path, table: pa.Table) -> None:
    """Write `table` to `path`, whole or not at all; the folder must exist.

    Raises:
        OSError: the disk refuses; an older file at `path` is as it was.
    """
    with TableWriter(path, table.schema) as writer:
        writer.write(table)


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_table(path: Path, schema: pa.Schema, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a file that was written with this `schema` or a newer minor version of it.

    Args:
        path: the file.
        schema: one of schema.py's.
        columns: names of the columns wanted; None for all of the schema.

    Raises:
        UserError: the file is missing or damaged, is another table, or is of a newer version.
    """
    try:
        stored = pq.read_schema(path)
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except pa.ArrowInvalid as error:
        raise UserError(f"{path} is not a sound Parquet file ({error}); restore it") from None
    table, version = _tag(stored)
    wanted, ours = _tag(schema)
    if table != wanted:
        raise UserError(
            f"{path} holds {table or 'a table that Stepmill did not write'}; expected {wanted}"
        )
    if int(version.partition(".")[0]) > int(ours.partition(".")[0]):
        raise UserError(
            f"{path} has schema version {version}, newer than {SCHEMA_VERSION},"
            " which this version of Stepmill writes; update Stepmill"
        )
    names = schema.names if columns is None else list(columns)
    return pq.read_table(path, columns=names, partitioning=None)


def _tag(schema: pa.Schema) -> tuple[str, str]:
    """Name and version of the table, as the metadata say."""
    metadata = schema.metadata or {}
    return metadata.get(TABLE_KEY, b"").decode(), metadata.get(VERSION_KEY, b"0").decode()

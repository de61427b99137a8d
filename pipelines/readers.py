"""Rows of JSON Lines, JSON, CSV and Parquet files, one at a time, each with its place.

A row is a mapping from column to value; what is not text yet becomes text with `text_of`, numbers
to the letter as they are written in JSON. Nothing here knows what a column means.
"""

import codecs
import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from stepmill.errors import UserError
from stepmill.registry import closest

_MAX_CSV_FIELD = 1 << 24
"""Characters; Python's own limit of 131,072 is less than some worked solutions."""
_PARQUET_BATCH = 1024  # rows


class Row(NamedTuple):
    """One record of a source."""

    place: str
    """Such as `questions.jsonl:12`; names the record in messages."""
    values: Mapping[str, Any]


def text_of(value: object) -> str | None:
    """A value as text: None for none and NaN, items of a list on lines of their own."""
    match value:
        case None:
            return None
        case str():
            return value
        case float() if math.isnan(value):
            return None
        case list() | tuple():
            return "\n".join(text_of(item) or "" for item in value)
        case dict():
            return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def find_files(path: str) -> list[Path]:
    """Files that `path` names, in the order of their names.

    Args:
        path: a file; a pattern such as `data/*.jsonl`; or a folder, which stands for every file
            below it that can be read, hidden ones left out.

    Raises:
        UserError: there are none, or the file is of an unknown format.
    """
    here = Path(path).expanduser()
    if here.is_dir():
        below = sorted(here.rglob("*"))
        files = [f for f in below if f.is_file() and _is_readable(f) and not _is_hidden(f, here)]
        if not files:
            raise UserError(f"folder {path} holds no file of a known format ({_known()})")
        return files
    if not here.exists() and has_magic(path):
        files = [f for f in map(Path, sorted(glob(str(here), recursive=True))) if f.is_file()]
        if not files:
            raise UserError(f"no file matches {path}; the working directory is {Path.cwd()}")
    elif here.is_file():
        files = [here]
    else:
        names = [f.name for f in here.parent.iterdir()] if here.parent.is_dir() else []
        raise UserError(
            f"there is no file or folder {path}; the working directory is"
            f" {Path.cwd()}.{closest(here.name, names)}"
        )
    for file in files:
        if not _is_readable(file):
            raise UserError(f"{file} is of an unknown format; known by their endings: {_known()}")
    return files


def read_rows(path: Path) -> Iterator[Row]:
    """Rows of one file, in its order.

    Raises:
        UserError: the file cannot be read; names the line.
    """
    try:
        yield from _READERS[path.suffix.lower()](path)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None


def _is_readable(path: Path) -> bool:
    return path.suffix.lower() in _READERS


def _is_hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _known() -> str:
    return ", ".join(_READERS)


_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
# Numbers stay as they are written: 1.50 is not 1.5 when an answer is compared, and a long integer
# is no error.


def _json_lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:  # bytes: only \n ends a line, as some texts hold U+2028
        for number, raw in enumerate(file, 1):
            place = f"{path}:{number}"
            try:
                line = raw.removeprefix(codecs.BOM_UTF8 if number == 1 else b"").decode().strip()
                if line:
                    yield Row(place, _object(_DECODER.decode(line), place))
            except UnicodeDecodeError as error:
                raise UserError(f"{place}: not UTF-8 ({error.reason})") from None
            except json.JSONDecodeError as error:
                raise UserError(
                    f"{place}: not valid JSON: {error.msg} (column {error.colno})"
                ) from None
            except RecursionError:
                raise UserError(f"{place}: nested too deeply") from None


def _json(path: Path) -> Iterator[Row]:
    """A list of objects; the text is held whole, the objects are decoded one by one."""
    try:
        text = path.read_bytes().removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 ({error.reason})") from None
    at = _skip_space(text, 0)
    if text[at : at + 1] == "{":
        yield from _json_lines(path)  # many files with this ending are JSON Lines
        return
    if text[at : at + 1] != "[":
        raise UserError(f"{path}: expected a list of objects, or one object per line")
    line, counted = 1, 0
    at = _skip_space(text, at + 1)
    while text[at : at + 1] != "]":
        line, counted = line + text.count("\n", counted, at), at
        place = f"{path}:{line}"
        try:
            value, at = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise UserError(f"{path}:{error.lineno}: not valid JSON: {error.msg}") from None
        except RecursionError:
            raise UserError(f"{place}: nested too deeply") from None
        yield Row(place, _object(value, place))
        at = _skip_space(text, at)
        if text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
        elif text[at : at + 1] != "]":
            raise UserError(f"{path}: not valid JSON: expected ',' or ']' after {place}")


def _skip_space(text: str, at: int) -> int:
    while text[at : at + 1] in {" ", "\t", "\n", "\r"}:
        at += 1
    return at


def _object(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{place}: expected an object with keys, got {type(value).__name__}")
    return value


def _separated(delimiter: str) -> Callable[[Path], Iterator[Row]]:
    def read(path: Path) -> Iterator[Row]:
        csv.field_size_limit(_MAX_CSV_FIELD)
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter=delimiter, strict=True)
            try:
                for values in reader:
                    place = f"{path}:{reader.line_num}"
                    if None in values:
                        raise UserError(
                            f"{place}: more fields than the {len(reader.fieldnames or ())} of the"
                            " header; is a quote or the separator wrong?"
                        )
                    yield Row(place, values)
            except csv.Error as error:
                line = reader.reader.line_num  # the outer count is that of the last good row
                raise UserError(f"{path}:{line}: not valid CSV: {error}") from None
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}: not UTF-8 ({error.reason}), after line {reader.line_num}"
                ) from None

    return read


def _parquet(path: Path) -> Iterator[Row]:
    try:
        with pq.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(_PARQUET_BATCH):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(f"{path}: row {number}", values)
    except pa.ArrowInvalid as error:
        raise UserError(f"{path}: not a Parquet file that can be read: {error}") from None


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".parquet": _parquet,
}

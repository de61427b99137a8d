"""Recorded completions in memory, by prefix and draw.

Columns of a recording; a run's `rollouts/` parts have them, and others are ignored:

    prefix_key                 text, `Prefix.key`; or, in its place,
    question, prefix           text: what was continued
    draw                       integer, from 0 at each prefix
    text, finish_reason        text
    n_tokens                   integer
    policy                     text, optional: which of several recorded policies drew it
    prompt_tokens, cached_tokens, token_ids, logprobs      optional

Rows stay in Arrow's form, sorted by prefix and draw, without questions and prefixes, which are the
bulk of a recording; two sorted arrays of 12 bytes a row find them.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stepmill.engines.base import Prefix
from stepmill.errors import EngineError, UserError
from stepmill.records import Completion

_SCHEMA = pa.schema(
    {
        "policy": pa.string(),
        "draw": pa.int32(),
        "text": pa.large_string(),
        "finish_reason": pa.string(),
        "n_tokens": pa.int32(),
        "prompt_tokens": pa.int32(),
        "cached_tokens": pa.int32(),
        "token_ids": pa.list_(pa.int32()),
        "logprobs": pa.list_(pa.float64()),
    }
)
_NEEDED = ("draw", "text", "finish_reason", "n_tokens")
_KEY = "key"


class Recording:
    """The draws of one policy.

    Args:
        files: Parquet files, in order; the first of two rows for one draw counts.
        policy: whose rows to take; None when there are one policy's only.

    Raises:
        UserError: a file cannot be read or lacks columns, or the policy is not settled.
    """

    def __init__(self, files: Sequence[Path], policy: str | None) -> None:
        batches = [batch for path in files for batch in _read(path)]
        rows = pa.Table.from_batches(batches, _SCHEMA.append(pa.field(_KEY, pa.uint64())))
        self.policy = _settle(rows, policy, files[0])
        if self.policy is not None:
            rows = rows.filter(pc.field("policy") == self.policy)
        rows = rows.sort_by([(_KEY, "ascending"), ("draw", "ascending")])  # a stable sort
        self._keys = array("Q", rows[_KEY].to_pylist())
        self._draws = array("i", rows["draw"].to_pylist())
        self._rows = rows.drop_columns([_KEY, "policy"]).combine_chunks()
        self.digest = self._digest()
        """Hash of what the recording answers."""

    def draw(self, prefix: Prefix, draw: int) -> Completion:
        """The recorded draw at `prefix`.

        Raises:
            EngineError: it was not recorded.
        """
        key = int(prefix.key, 16)
        start, end = bisect_left(self._keys, key), bisect_right(self._keys, key)
        at = bisect_left(self._draws, draw, start, end)
        if at == end or self._draws[at] != draw:
            n = len(set(self._draws[start:end]))
            raise EngineError(
                f"draw {draw} (counted from 0) was asked for, but {n or 'none'} recorded, at a"
                f" prefix of {len(prefix.text)} characters for the problem"
                f" {prefix.question[:60]!r}: ask for fewer draws, or record more"
            )
        row = {name: self._rows[name][at].as_py() for name in self._rows.column_names}
        ids, logprobs = row["token_ids"], row["logprobs"]
        return Completion(
            text=row["text"],
            finish_reason=row["finish_reason"],
            n_tokens=row["n_tokens"],
            draw=draw,
            token_ids=None if ids is None else tuple(ids),
            logprobs=None if logprobs is None else tuple(logprobs),
            cached_tokens=row["cached_tokens"],
            prompt_tokens=row["prompt_tokens"] or 0,
        )

    def _digest(self) -> str:
        digest = blake2b(digest_size=8)
        texts = (text.as_py() for text in self._rows["text"])
        for key, draw, text in zip(self._keys, self._draws, texts, strict=True):
            digest.update(f"{key} {draw} {len(text)} {text}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _read(path: Path) -> Iterator[pa.RecordBatch]:
    """Rows of a file in the one schema, batch by batch: questions and prefixes are long."""
    try:
        file = pq.ParquetFile(path)
        names = set(file.schema_arrow.names)
        keyed = ["prefix_key"] if "prefix_key" in names else ["question", "prefix"]
        if missing := [name for name in (*keyed, *_NEEDED) if name not in names]:
            raise UserError(
                f"recording {path} has no column {' and no column '.join(missing)}; it needs"
                " question and prefix (or prefix_key), draw, text, finish_reason and n_tokens"
            )
        columns = [*keyed, *(name for name in _SCHEMA.names if name in names)]
        for batch in file.iter_batches(columns=columns):
            if empty := [name for name in (*keyed, *_NEEDED) if batch[name].null_count]:
                raise UserError(f"recording {path} has rows without {', '.join(empty)}")
            yield _in_schema(batch, keyed)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"recording {path} cannot be read: {error}") from error


def _in_schema(batch: pa.RecordBatch, keyed: list[str]) -> pa.RecordBatch:
    columns = [
        batch[field.name].cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in _SCHEMA
    ]
    parts = [batch[name].to_pylist() for name in keyed]
    keys = map(_number, parts[0]) if len(parts) == 1 else map(_key, *parts)
    keys_column = pa.array(keys, pa.uint64(), size=batch.num_rows)
    return pa.RecordBatch.from_arrays([*columns, keys_column], [*_SCHEMA.names, _KEY])


def _number(key: str) -> int:
    return int(key, 16)


@lru_cache(maxsize=64)  # the draws of a prefix mostly stand together
def _key(question: str, prefix: str) -> int:
    return _number(Prefix(question, prefix).key)


def _settle(rows: pa.Table, wanted: str | None, where: Path) -> str | None:
    """Whose rows are replayed; None when the recording has no policies."""
    recorded = sorted(str(p) for p in rows["policy"].unique().to_pylist() if p is not None)
    found = f"{where} and its neighbours hold the draws of: {', '.join(recorded) or 'no policy'}"
    if wanted is not None and wanted not in recorded:
        raise UserError(f"`policy` is {wanted!r}, but {found}")
    if wanted is None and len(recorded) > 1:
        raise UserError(f"{found}; choose one with `policy`")
    return wanted or (recorded[0] if recorded else None)

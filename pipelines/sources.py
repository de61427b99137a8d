"""Problem sources: files, Hugging Face data sets, our own word problems, shipped samples.

Every record ends as a problem or is set aside with a reason: nothing is dropped in silence, and
nothing without a usable reference reaches a model. Problems keep the order of their source, so a
source that grows at its end only adds problems.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from stepmill import wordproblems
from stepmill.errors import UserError
from stepmill.pipelines.mappings import FieldMapping, ReadyMapping, check_mapping, find_mapping
from stepmill.pipelines.readers import Row, find_files, read_rows, text_of
from stepmill.pipelines.references import Lint, find_reference
from stepmill.records import Problem, problem_id
from stepmill.settings import Settings
from stepmill.verifiers.answers.references import lint_reference

logger = logging.getLogger(__name__)

_LOOK_AHEAD = 100
"""Rows whose columns are known before the first problem is made."""
_SHOWN = 120
"""Characters of a faulty value that a message shows."""


_Path = Annotated[str, Field(min_length=1)]


class LimitSettings(Settings):
    """What every source can do."""

    limit: int | None = Field(default=None, ge=1)
    """Problems at most, the first ones; records set aside do not count. No limit when left out."""


class TableSettings(LimitSettings):
    """What every source that has columns can do."""

    mapping: ReadyMapping = "auto"
    """Which columns are read. `gsm8k`: question, and answer behind `####`. `math`: problem, and
    answer or the box in solution. `stepmill`: what a run wrote. `auto`: by the columns' names."""
    fields: FieldMapping | None = None
    """The columns by hand, instead of `mapping`."""
    unanswered: Literal["set-aside", "keep"] = "set-aside"
    """Problems without a reference. Rollouts need one, so they are set aside as `no-reference`;
    keep them for judges alone."""
    references: Literal["maths", "any"] = "maths"
    """`maths`: set aside references that cannot be read as answers. `any`: take texts and programs
    too."""
    name: str = ""
    """What the data set says about where the problems come from, unless a column does; the name of
    the file or data set when empty."""
    domain: str = ""
    """Subject of the problems, unless a column says it."""
    license: str = ""
    """Licence of the problems, unless a column says it."""

    @model_validator(mode="after")
    def _one_mapping(self) -> "TableSettings":
        if self.fields is not None and self.mapping != "auto":
            raise ValueError(f"give `fields` or `mapping: {self.mapping}`, not both")
        return self


class FileSettings(TableSettings):
    """Problems from files."""

    kind: Literal["file"] = "file"
    """Read files."""
    path: _Path | Annotated[tuple[_Path, ...], Field(min_length=1)]
    """A file, a pattern such as `data/*.jsonl`, a folder, or a list of these. Formats by ending:
    .jsonl, .ndjson, .json, .csv, .tsv, .parquet."""


class HuggingFaceSettings(TableSettings):
    """Problems from a Hugging Face data set."""

    kind: Literal["huggingface"] = "huggingface"
    """Load with `datasets`."""
    dataset: str = Field(min_length=1)
    """Name on the Hub, such as `openai/gsm8k`, or a local folder."""
    config: str | None = None
    """Configuration (subset) of the data set; its default when left out."""
    split: str = "train"
    """Split, or a slice such as `train[:100]`."""
    revision: str | None = None
    """Branch, tag or commit; a commit makes the run repeatable."""


class GeneratedSettings(LimitSettings):
    """Our own word problems, whose every step can be checked by computing."""

    kind: Literal["generated"] = "generated"
    """Generate."""
    n: int = Field(default=100, ge=1)
    """Problems."""
    seed: int = 0
    """Seed; another one gives other problems."""
    min_steps: int = Field(default=3, ge=1)
    """Operations of a problem, at least."""
    max_steps: int = Field(default=12, ge=1)
    """Operations of a problem, at most."""

    @model_validator(mode="after")
    def _range(self) -> "GeneratedSettings":
        if self.min_steps > self.max_steps:
            raise ValueError(f"min_steps {self.min_steps} is above max_steps {self.max_steps}")
        return self


class SampleSettings(LimitSettings):
    """A few problems that come with Stepmill, to try things on."""

    kind: Literal["sample"] = "sample"
    """Take a sample."""
    sample: Literal["gsm8k"] = "gsm8k"
    """`gsm8k`: 20 questions of GSM8K's training set (MIT licence)."""


SourceSettings = Annotated[
    FileSettings | HuggingFaceSettings | GeneratedSettings | SampleSettings,
    Field(discriminator="kind"),
]
"""Settings of any source; `kind` decides."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """A record that is not run."""

    record: str
    """Where it is, such as `questions.jsonl:12`."""
    reason: str
    """`no-question`, `no-reference`, `duplicate`, `not-text`, or what the check of the reference
    says."""
    detail: str
    """What was found instead, for a person."""


@dataclass(slots=True)
class ProblemSet:
    """Problems of a source, in its order, and what was set aside."""

    problems: list[Problem] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    mapping: FieldMapping | None = None
    """Columns that were read; None where the source has none."""

    def counts(self) -> dict[str, int]:
        """Records set aside, by reason."""
        return dict(Counter(s.reason for s in self.set_aside))


def load_problems(settings: SourceSettings, lint: Lint | None = lint_reference) -> ProblemSet:
    """Read a source up to its limit.

    Args:
        settings: which source, and how.
        lint: says why a reference cannot be an answer; None takes every text.

    Raises:
        UserError: the source is missing, broken or of another form; names file and line.
    """
    origin: str
    match settings:
        case GeneratedSettings():
            return ProblemSet(list(_generated(settings)))
        case SampleSettings():
            path = Path(__file__).parent / "data" / f"{settings.sample}_sample.jsonl"
            table: TableSettings = TableSettings(
                mapping=settings.sample,
                limit=settings.limit,
                name=f"{settings.sample}-sample",
                domain="arithmetic",
                license="MIT",
            )
            origin = settings.sample
            rows = read_rows(path)
        case FileSettings():
            paths = (settings.path,) if isinstance(settings.path, str) else settings.path
            files = [file for name in paths for file in find_files(name)]
            table, origin = settings, ", ".join(Path(name).name for name in paths)
            rows = chain.from_iterable(map(read_rows, files))
        case HuggingFaceSettings():
            table, origin = settings, settings.dataset
            rows = _hub_rows(settings)
    found = _read_table(rows, table, origin, lint)
    if found.set_aside:
        reasons = ", ".join(f"{n} {reason}" for reason, n in found.counts().items())
        logger.warning("%s: %d problems; set aside: %s", origin, len(found.problems), reasons)
    return found


def _generated(settings: GeneratedSettings) -> Iterator[Problem]:
    n = min(settings.n, settings.limit or settings.n)
    for drawn in wordproblems.generate(settings.seed, n, settings.min_steps, settings.max_steps):
        answer = str(drawn.answer)
        yield Problem(
            id=problem_id(drawn.question, answer),
            question=drawn.question,
            answer=answer,
            source="stepmill-word-problems",
            domain="arithmetic",
            license="Apache-2.0",
            meta={"operations": str(len(drawn.steps))},
        )


def _hub_rows(settings: HuggingFaceSettings) -> Iterator[Row]:
    from datasets import exceptions, load_dataset  # seconds, and most runs never need it

    try:
        data = load_dataset(
            settings.dataset, settings.config, split=settings.split, revision=settings.revision
        )
    except (OSError, ValueError, exceptions.DatasetsError) as error:
        raise UserError(
            f"data set {settings.dataset!r} (config {settings.config}, split {settings.split},"
            f" revision {settings.revision}) cannot be loaded: {error}"
        ) from None
    for number, values in enumerate(data):
        yield Row(f"{settings.dataset}/{settings.split}: row {number}", values)


def _read_table(
    rows: Iterable[Row], settings: TableSettings, origin: str, lint: Lint | None
) -> ProblemSet:
    rows = iter(rows)
    head = list(islice(rows, _LOOK_AHEAD))
    if not head:
        return ProblemSet()
    columns = list(dict.fromkeys(column for row in head for column in row.values))
    if settings.fields is not None:
        mapping = settings.fields
        check_mapping(mapping, columns, origin)
    else:
        unanswered = settings.unanswered == "keep"
        mapping = find_mapping(settings.mapping, head, columns, origin, unanswered)
        logger.info("%s: question from column %r, reference from %r (%s)", origin,
                    mapping.question, mapping.answer, mapping.reads)  # fmt: skip
    reader = _Reader(mapping, settings, origin, lint if settings.references == "maths" else None)
    found = ProblemSet(mapping=mapping)
    for row in chain(head, rows):
        made = reader.read(row)
        if isinstance(made, SetAside):
            found.set_aside.append(made)
        else:
            found.problems.append(made)
        if len(found.problems) == settings.limit:
            break
    return found


class _Reader:
    """Makes a problem of each row, or says why not.

    Args:
        mapping: columns, all of them known to the source.
        settings: what to do with them.
        origin: name of the source.
        lint: as in `load_problems`.
    """

    def __init__(
        self, mapping: FieldMapping, settings: TableSettings, origin: str, lint: Lint | None
    ) -> None:
        self._mapping = mapping
        self._columns = mapping.columns
        self._settings = settings
        self._source = settings.name or origin
        self._lint = lint
        self._first: dict[bytes, Problem] = {}  # by the hash of its question

    def read(self, row: Row) -> Problem | SetAside:
        """Take one row; of several with the same question, the first one counts."""
        mapping, settings = self._mapping, self._settings
        texts = {
            column: (text_of(row.values.get(column)) or "").strip() for column in self._columns
        }

        def text(column: str | None) -> str:
            return texts[column] if column is not None else ""

        for column, value in texts.items():
            if not _is_text(value):
                detail = f"column {column!r} holds half a surrogate pair, which is no character"
                return SetAside(row.place, "not-text", detail)
        own_id = text(mapping.id)
        place = f"{row.place} (id {own_id!r})" if own_id else row.place
        empty = next((c for c in mapping.question_columns if not texts[c]), None)
        if empty is not None:
            return SetAside(place, "no-question", f"column {empty!r} is empty or missing")
        question = "\n".join(texts[column] for column in mapping.question_columns)
        answer = find_reference(text(mapping.answer), mapping.reads)
        if answer is None and settings.unanswered == "set-aside":
            detail = f"column {mapping.answer!r} holds {_shown(text(mapping.answer))}"
            return SetAside(place, "no-reference", detail if mapping.answer else "no column for it")
        fault = self._lint(answer) if self._lint and answer is not None else None
        if answer is not None and fault:
            return SetAside(place, fault, f"the reference is {_shown(answer)}")
        meta = {column: texts[column] for column in mapping.meta if texts[column]}
        problem = Problem(
            id=problem_id(question, answer),
            question=question,
            answer=answer,
            source=text(mapping.source) or self._source,
            domain=text(mapping.domain) or settings.domain,
            license=text(mapping.license) or settings.license,
            meta={"id": own_id, **meta} if own_id else meta,
        )
        # The later one goes even when its reference is another: if both went, a source that grows
        # could lose a problem that is half done.
        key = hashlib.blake2b(" ".join(question.split()).encode(), digest_size=16).digest()
        first = self._first.setdefault(key, problem)
        if first is not problem:
            other = "" if first.answer == answer else f", whose reference is {first.answer!r}"
            return SetAside(place, "duplicate", f"same question as problem {first.id}{other}")
        return problem


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: str) -> str:
    return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "…")

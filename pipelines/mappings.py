"""Which column of a source holds the question, which the reference, and what else to keep.

A mapping is written by hand, is one of the ready ones, or is found from the names of the columns.
One that is found is said in the log; where the names leave a doubt, the user is asked, since a
wrong reference or half a question spoils every label.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from stepmill.errors import UserError
from stepmill.pipelines.readers import Row, text_of
from stepmill.pipelines.references import Reads
from stepmill.registry import closest
from stepmill.settings import Settings

ReadyMapping = Literal["auto", "gsm8k", "math", "stepmill"]

_READY: dict[str, tuple[tuple[str, str, Reads], ...]] = {
    "gsm8k": (("question", "answer", "hashes"),),
    "math": (("problem", "answer", "text"), ("problem", "solution", "boxed")),
    "stepmill": (("question", "answer", "text"), ("prompt", "reference_answer", "text")),
}
"""Columns of the question and of the reference; the first pair that is there is taken."""

_QUESTIONS = ("question", "problem", "prompt", "query", "input", "instruction")
_REFERENCES = (
    "answer",
    "final_answer",
    "reference_answer",
    "expected_answer",
    "correct_answer",
    "gold_answer",
    "ground_truth_answer",
    "ground_truth",
    "gold",
    "target",
)
_WORKED = ("solution", "reference_solution")
"""Columns that hold a worked solution, with the reference in a box."""
_BESIDE = ("context", "passage", "premises", "options", "choices")
"""Columns without which a question is often incomplete."""

_OPTIONAL = {
    "id": ("id", "unique_id", "uuid"),
    "domain": ("domain", "subject"),
    "license": ("license",),
    "source": ("source",),
}


class FieldMapping(Settings):
    """Columns of a source."""

    question: str | Annotated[tuple[str, ...], Field(min_length=1)]
    """Column of the question; of several, the texts are joined by line breaks, for example
    `[question, options]`."""
    answer: str | None = None
    """Column of the reference; there is none when it is left out."""
    reads: Reads = "text"
    r"""How it lies there. `text`: it is the whole text. `hashes`: it is behind the last `####`.
    `boxed`: it is in the last `\boxed{…}`."""
    id: str | None = None
    """Column of the source's own id; kept as `meta.id`, and used in messages."""
    domain: str | None = None
    """Column of the subject."""
    license: str | None = None
    """Column of the licence."""
    source: str | None = None
    """Column that says where the problem comes from."""
    meta: tuple[str, ...] = Field(default=())
    """Further columns to keep, as text."""

    @property
    def question_columns(self) -> tuple[str, ...]:
        """Columns of the question, at least one."""
        return (self.question,) if isinstance(self.question, str) else self.question

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it names."""
        single = (self.answer, self.id, self.domain, self.license, self.source)
        return (*self.question_columns, *(c for c in single if c is not None), *self.meta)


def check_mapping(mapping: FieldMapping, columns: Sequence[str], origin: str) -> None:
    """Refuse a mapping that names a column that is not there.

    Raises:
        UserError: says which, and the columns that there are.
    """
    for column in mapping.columns:
        if column not in columns:
            raise UserError(
                f"{origin} has no column {column!r}; its columns: {', '.join(columns)}."
                f"{closest(column, list(columns))}"
            )


def find_mapping(
    ready: ReadyMapping, rows: Sequence[Row], columns: Sequence[str], origin: str, unanswered: bool
) -> FieldMapping:
    """A ready mapping that fits the columns, or one found from their names.

    Args:
        ready: name of the mapping; `auto` looks at names and values.
        rows: the first rows of the source.
        columns: all columns of these rows.
        origin: name of the source, for messages.
        unanswered: whether a source without references will do.

    Raises:
        UserError: none fits, or the columns leave a doubt.
    """
    if ready == "auto":
        question, answer, reads = _found(rows, columns, origin, unanswered)
    else:
        fitting = [p for p in _READY[ready] if p[0] in columns and p[1] in columns]
        if not fitting:
            wanted = " or ".join(f"{q} and {a}" for q, a, _ in _READY[ready])
            raise UserError(
                f"{origin} does not fit the mapping {ready!r}, which needs the columns {wanted};"
                f" its columns: {', '.join(columns)}. Name them with `fields`"
            )
        question, answer, reads = fitting[0]

    def optional(field: str) -> str | None:
        names = (name for name in _OPTIONAL[field] if name in columns)
        return next((name for name in names if name not in {question, answer}), None)

    return FieldMapping(
        question=question,
        answer=answer,
        reads=reads,
        id=optional("id"),
        domain=optional("domain"),
        license=optional("license"),
        source=optional("source"),
    )


def _found(
    rows: Sequence[Row], columns: Sequence[str], origin: str, unanswered: bool
) -> tuple[str, str | None, Reads]:
    by_name = {column.lower(): column for column in reversed(columns)}
    question = next((by_name[name] for name in _QUESTIONS if name in by_name), None)
    if question is None:
        raise UserError(
            f"{origin}: no column looks like a question; its columns: {', '.join(columns)}."
            " Name it with `fields: {question: …, answer: …}`"
        )
    beside = [by_name[name] for name in _BESIDE if name in by_name]
    if beside:
        raise UserError(
            f"{origin}: the question is in {question}, but {' and '.join(beside)} may belong to it;"
            f" say which with `fields: {{question: [{', '.join([*beside, question])}], answer: …}}`"
        )
    answers = [by_name[name] for name in _REFERENCES if name in by_name]
    if len(answers) > 1:
        raise UserError(
            f"{origin}: the reference may be in {' or '.join(answers)}; say which with"
            f" `fields: {{question: {question}, answer: …}}`"
        )
    worked = [by_name[name] for name in _WORKED if name in by_name]
    if not answers and not worked:
        if unanswered:
            return question, None, "text"
        raise UserError(
            f"{origin}: no column looks like a reference answer; its columns:"
            f" {', '.join(columns)}. Name it with `fields: {{question: {question}, answer: …}}`,"
            " or write `unanswered: keep`"
        )
    answer = (answers or worked)[0]
    return question, answer, _reads(answer in worked, [row.values.get(answer) for row in rows])


def _reads(worked: bool, values: Sequence[object]) -> Reads:
    texts = [text for value in values if (text := text_of(value))]
    if texts and all("####" in text for text in texts):
        return "hashes"
    return "boxed" if worked else "text"

"""What every export format shares: the registry, which labels it is given, and what is refused.

A format gets one labelled row at a time as an `Example`: texts of the steps without the white space
that separates them, and one label per step. It returns the consumer's record or raises `Refused`
for a row that it cannot carry; refused rows are counted with their reason and never changed. Facts
about consumers are in the modules of the formats.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from stepmill.registry import Registry
from stepmill.settings import Settings

AfterError = Literal["truncate", "mask", "zero", "measured"]


class ExportSettings(Settings):
    """How labels are handed to a format."""

    after_error: AfterError = "truncate"
    """Steps after the first bad one. `truncate`: left out (as PRM800K's second phase and
    Qwen2.5-Math-PRM do). `mask`: kept without a label, where the format can say so. `zero`: bad.
    `measured`: their own labels."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """Makes a hard label of a soft one: good at or above it. Without it soft labels are refused by
    every format that cannot carry them."""


class Refused(Exception):
    """Raised for a row that a format cannot carry; the message is the reason it is counted by."""


@dataclass(frozen=True, slots=True)
class Example:
    """One solution as a format sees it."""

    id: str
    prompt: str
    steps: tuple[str, ...]
    """Texts without the white space around them."""
    labels: tuple[float | None, ...]
    """One per step: 1 good, 0 bad, between them a soft label, None: no label."""
    first_error: int | None
    """0-based, -1 for none, None unknown."""
    reference_answer: str | None
    final_answer: str | None
    final_correct: bool | None
    generator: str
    """Name of the model that wrote the solution."""
    source: str
    row: Mapping[str, Any]
    """The whole canonical row."""

    @property
    def hard(self) -> tuple[int, ...]:
        """All labels as 0 or 1.

        Raises:
            Refused: a step has none, or a soft one.
        """
        labels = self.hard_or_none
        if None in labels:
            raise Refused("step-without-label")
        return tuple(label for label in labels if label is not None)

    @property
    def hard_or_none(self) -> tuple[int | None, ...]:
        """Labels as 0, 1 or None.

        Raises:
            Refused: a label is soft.
        """
        if any(label not in (None, 0, 1) for label in self.labels):
            raise Refused("soft-label")
        return tuple(None if label is None else int(label) for label in self.labels)


def refuse_inside(example: Example, mark: str) -> None:
    """Refuse a row whose texts hold the mark that separates steps in the format."""
    if any(mark in text for text in (example.prompt, *example.steps)):
        raise Refused("separator-in-text")


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    `write` makes the record of an example; `file` is how records are stored.
    """

    write: Callable[[Example], dict[str, Any]]
    file: Literal["jsonl", "parquet"]
    soft: bool
    """Whether it can carry soft labels without loss."""
    read: Callable[[Sequence[Mapping[str, Any]]], list["Imported"]] | None = None
    """Reads records back; None where the format loses what that would need."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A labelled solution from a foreign file."""

    prompt: str
    steps: tuple[str, ...]
    """Texts as they join to the solution: separators belong to the step before."""
    labels: tuple[int | None, ...]
    """1 good, 0 bad, None no label."""
    ratings: tuple[int | None, ...]
    """-1, 0 or 1 where a person rated; neutral stays 0."""
    first_error: int | None
    reference_answer: str | None = None
    final_correct: bool | None = None
    generator: str = ""
    source: str = ""


FORMATS: Registry[Format] = Registry("export format")
"""Formats by name."""

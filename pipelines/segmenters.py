"""Segmenters: from a solution's text to its steps.

Whatever the kind, joining the steps gives the text back; spans are half-open and in order; no step
is empty or only white space; what separates two steps ends the first of them; and no cut falls
inside maths, code, a table, a number or a link (pipelines/protected.py). A text that is only white
space is one step, an empty text has none.

The beginning of a text that ends where a step ends has the same steps as the whole text up to
there. A search relies on it: the steps of a prefix do not change with what is written behind it.
It holds for every kind but `regex`, whose pattern may look ahead as far as it likes.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from stepmill.pipelines.explain import explain
from stepmill.pipelines.lines import line_cuts, marker_cuts, step_marker
from stepmill.pipelines.patterns import compile_pattern, pattern_cuts
from stepmill.pipelines.protected import protected_spans
from stepmill.pipelines.sentences import sentence_cuts
from stepmill.records import Step
from stepmill.registry import Registry
from stepmill.settings import Settings

Segmenter = Callable[[str], tuple[Step, ...]]
"""Cuts a text into steps, as the module says; pure."""


@dataclass(frozen=True, slots=True)
class SegmenterKind:
    """One entry of the registry: the settings a configuration gives, and what they build."""

    settings: type[Settings]
    build: Callable[[Any], Segmenter]


SEGMENTERS: Registry[SegmenterKind] = Registry("segmenter")
"""Kinds of segmenter by the `kind` of a configuration; a plug-in adds its own."""


class CutSettings(Settings):
    """What every kind of this module can do with the steps it finds."""

    min_chars: int = Field(default=0, ge=0)
    """A step with fewer characters, white space at its end included, is joined with the next one;
    the last step may be short."""
    max_steps: int | None = Field(default=None, ge=1)
    """Steps at most; the last of them holds the rest of the text. No limit when left out."""


class BlankLineSettings(CutSettings):
    """One step per paragraph."""

    kind: Literal["blank-line"] = "blank-line"
    """Cut at blank lines."""


class LineSettings(CutSettings):
    """One step per line."""

    kind: Literal["line"] = "line"
    """Cut at line breaks."""


class StepMarkerSettings(CutSettings):
    """One step per marker such as `Step 2:`, `**Step 2**` or `### Step 2` at a line's beginning.

    What stands before the first marker is a step of its own.
    """

    kind: Literal["step-marker"] = "step-marker"
    """Cut before markers."""
    words: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=("Step",), min_length=1)
    """What a step is called; upper and lower case are the same."""
    numbered: bool = False
    """Take `2.` and `2)` at a line's beginning for markers too."""


class SentenceSettings(CutSettings):
    """One step per sentence."""

    kind: Literal["sentence"] = "sentence"
    """Cut at sentence ends."""
    at_lines: bool = True
    """A line break ends a sentence too, but not before displayed maths. Turn it off for text that
    is wrapped at some width."""


class RegexSettings(CutSettings):
    """Steps where a pattern of your own matches."""

    kind: Literal["regex"] = "regex"
    """Cut at matches of `pattern`."""
    pattern: str = Field(min_length=1, max_length=500)
    """Regular expression of Python's `re`. One that matches nothing at all, or that repeats a
    repeat as `(a+)*` does, is refused. `^` is the beginning of the text; write `(?m)` for lines."""
    cut: Literal["after", "before"] = "after"
    """`after`: a match is a separator, or the end of a step. `before`: it begins a step."""
    max_chars: int = Field(default=100_000, ge=1)
    """Characters that the pattern is tried on. What lies behind them belongs to the last step:
    a pattern can still take time that grows with the square of the text."""

    @field_validator("pattern")
    @classmethod
    def _usable(cls, pattern: str) -> str:
        compile_pattern(pattern)
        return pattern


class PluginSegmenterSettings(Settings):
    """A segmenter that a plug-in has registered; its keys are those of the plug-in."""

    model_config = ConfigDict(extra="allow")

    kind: str
    """Name in the registry."""

    @model_validator(mode="after")
    def _fits(self) -> "PluginSegmenterSettings":
        self.resolved()
        return self

    def resolved(self) -> Settings:
        """The plug-in's own settings.

        Raises:
            UserError: no segmenter has this name.
            ValueError: the settings do not fit it.
        """
        model = SEGMENTERS[self.kind].settings
        try:
            return model.model_validate(self.model_dump())
        except ValidationError as error:
            raise ValueError(explain(error, model)) from None


_BUILT_IN = ("blank-line", "line", "step-marker", "sentence", "regex")


def _tag(value: object) -> str | None:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    if not isinstance(kind, str):
        return None
    return kind if kind in _BUILT_IN else "plug-in"


SegmenterSettings = Annotated[
    Annotated[BlankLineSettings, Tag("blank-line")]
    | Annotated[LineSettings, Tag("line")]
    | Annotated[StepMarkerSettings, Tag("step-marker")]
    | Annotated[SentenceSettings, Tag("sentence")]
    | Annotated[RegexSettings, Tag("regex")]
    | Annotated[PluginSegmenterSettings, Tag("plug-in")],
    Discriminator(
        _tag,
        custom_error_type="segmenter_kind",
        custom_error_message=f"needs `kind`, one of: {', '.join(_BUILT_IN)}, or a plug-in's",
    ),
]
"""Settings of any segmenter; `kind` decides."""


def build_segmenter(settings: SegmenterSettings) -> Segmenter:
    """The segmenter that `settings` describe."""
    kind = SEGMENTERS[settings.kind]
    own = settings.resolved() if isinstance(settings, PluginSegmenterSettings) else settings
    return kind.build(own)


def steps_at(
    text: str, cuts: Iterable[int], *, min_chars: int = 0, max_steps: int | None = None
) -> tuple[Step, ...]:
    """Cut `text` where it may be cut, and leave no step without content.

    Args:
        text: a solution.
        cuts: wanted beginnings of steps, increasing. One that falls inside a protected span is
            left out; of several with only white space between them, the last one counts.
        min_chars: as in `CutSettings`.
        max_steps: as in `CutSettings`.
    """
    if not text:
        return ()
    bounds = [0]
    content = _next_content(text, 0)  # first character of the step in work that is no white space
    for cut in _allowed(text, cuts):
        if cut <= content:
            if len(bounds) > 1:
                bounds[-1] = cut
        elif cut - content >= min_chars and (max_steps is None or len(bounds) < max_steps):
            bounds.append(cut)
            content = _next_content(text, cut)
    if content == len(text) and len(bounds) > 1:
        bounds.pop()
    ends = [*bounds[1:], len(text)]
    return tuple(
        Step(i, text[start:end], start, end)
        for i, (start, end) in enumerate(zip(bounds, ends, strict=True))
    )


_CONTENT = re.compile(r"\S")


def _next_content(text: str, at: int) -> int:
    found = _CONTENT.search(text, at)
    return found.start() if found else len(text)


def _allowed(text: str, cuts: Iterable[int]) -> Iterator[int]:
    """The `cuts` that lie inside no protected span."""
    spans = iter(protected_spans(text))
    start, end = next(spans, (len(text), len(text)))
    for cut in cuts:
        while end < cut:
            start, end = next(spans, (len(text), len(text)))
        if not start < cut < end:
            yield cut


def _register(
    name: str, settings: type[CutSettings], cuts: Callable[[Any], Callable[[str], Iterable[int]]]
) -> None:
    def build(own: CutSettings) -> Segmenter:
        find = cuts(own)

        def segment(text: str) -> tuple[Step, ...]:
            return steps_at(text, find(text), min_chars=own.min_chars, max_steps=own.max_steps)

        return segment

    SEGMENTERS.register(name)(SegmenterKind(settings, build))


def _marker(own: StepMarkerSettings) -> Callable[[str], Iterable[int]]:
    marker = step_marker(own.words, own.numbered)
    return lambda text: marker_cuts(text, marker)


def _pattern(own: RegexSettings) -> Callable[[str], Iterable[int]]:
    pattern = compile_pattern(own.pattern)
    return lambda text: pattern_cuts(text[: own.max_chars], pattern, own.cut)


_register("blank-line", BlankLineSettings, lambda own: lambda text: line_cuts(text, 2))
_register("line", LineSettings, lambda own: lambda text: line_cuts(text, 1))
_register("step-marker", StepMarkerSettings, _marker)
_register("sentence", SentenceSettings, lambda own: lambda text: sentence_cuts(text, own.at_lines))
_register("regex", RegexSettings, _pattern)

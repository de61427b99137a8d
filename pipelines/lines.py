"""Where lines, paragraphs and numbered steps begin in a text.

A line ends at LF, CR LF or CR. Other separators that Unicode knows (U+2028, vertical tab, …) are
white space inside a line, as in JSON Lines. Nothing here knows of maths or code; the caller leaves
out what falls inside them (pipelines/protected.py).
"""

import re
from collections.abc import Iterator, Sequence

LINE_BREAK = r"(?>\r\n|\n|\r)"
"""Regular expression of what ends a line; atomic, so that CR LF is never taken for two breaks."""

_BREAK = re.compile(LINE_BREAK)
_GAP = re.compile(r"[\r\n]\s*")


def line_breaks(text: str, start: int, end: int) -> list[int]:
    """Offset just behind each line break in `text[start:end]`."""
    return [m.end() for m in _BREAK.finditer(text, start, end)]


def line_cuts(text: str, breaks: int) -> Iterator[int]:
    """Beginnings of lines that follow at least `breaks` line breaks with only white space between.

    1 gives the beginning of every line that is not blank, 2 of every paragraph. A line keeps its
    indentation.
    """
    for gap in _GAP.finditer(text):
        found = line_breaks(text, *gap.span())
        if len(found) >= breaks:
            yield found[-1]


def step_marker(words: Sequence[str], numbered: bool) -> re.Pattern[str]:
    """Pattern of a line that begins a numbered step.

    `Step 2:`, `Step 2.` and a line that is only `Step 2` begin one; so does `### Step 2 …` or
    `**Step 2** …` with anything behind it. `Step 2 is wrong` is a sentence and begins none.

    Args:
        words: what a step is called, in any case.
        numbered: take `2.` and `2)` for markers too.
    """
    name = rf"(?:{'|'.join(map(re.escape, words))})[ \t]*\d{{1,3}}(?:\.\d{{1,3}})*"
    forms = [
        rf"\#{{1,6}}[ \t]+(?:\*\*|__)?{name}\b",
        rf"(?:\*\*|__){name}\b",
        rf"{name}[ \t]*(?:[-:.)\]：–—]|(?=[\r\n]|\Z))",
    ]
    if numbered:
        forms.append(r"(?:\*\*)?\d{1,3}[.)](?:\*\*)?[ \t]+(?=\S)")
    return re.compile(
        rf"(?:\A|(?<=[\r\n]))[ \t]*(?:[-*>][ \t]+)?(?:{'|'.join(forms)})", re.IGNORECASE
    )


def marker_cuts(text: str, marker: re.Pattern[str]) -> Iterator[int]:
    """Beginnings of the lines that `marker` matches, indentation included."""
    for found in marker.finditer(text):
        yield found.start()

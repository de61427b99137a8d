"""Where sentences end in a written solution.

Rules, not a model: a full stop, a question mark or an exclamation mark ends a sentence unless it
belongs to an abbreviation, a list number, an ellipsis or a factorial. When in doubt the sentence
goes on: two sentences in one step cost less than half a sentence in each of two. Nothing here
knows of maths or code; the caller leaves out what falls inside them (pipelines/protected.py).
"""

import re
import unicodedata
from collections.abc import Iterator

from stepmill.pipelines.lines import line_breaks

_GAP = re.compile(r"[。！？]++[”’」』）]*+\s*|\s+")
_CLOSERS = "\"'”’»)]}*_$`\\ "
"""What may stand between a full stop and the space: `… = 3.$ Also`, `… = 3. \\] Also`."""
_DISPLAY = ("\\[", "$$", "\\begin")
_LOOK_BACK = 64
"""Characters behind a gap that can decide about it; keeps the time linear."""

# What follows decides whether the word is short for something: a name, a number, or anything.
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "mt", "mx", "prof", "st"})
_NUMBERED = frozenset(
    {"no", "nos", "nr", "fig", "figs", "eq", "eqs", "eqn", "ch", "vol", "p", "pp", "sec", "ex"}
    | {"thm", "lem", "prop", "cor", "def"}
    | {"jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"}
)
_OTHERS = frozenset({"approx", "ca", "cf", "est", "incl", "resp", "viz", "vs", "al"})

_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_TIME_OF_DAY = frozenset({"a.m", "p.m"})
_WORD = re.compile(r"[^\s(\[{\"'“‘«*_$]*\Z")
_INITIAL = re.compile(r"[A-Z]\.")
_TWO_INITIALS = re.compile(r"(?<![^\W_])[A-Z]\.\s?[A-Z]\.\Z")
_LIST_NUMBER = re.compile(
    r"[\s#*_>(\[•-]*(?:(?:step|case|part|claim|lemma|example|problem)\s+)?"
    r"(?:\d{1,3}(?:\.\d{1,3})*|[a-z]|[ivx]{1,5})[*_)\]]*\.",
    re.IGNORECASE,
)


def sentence_cuts(text: str, at_lines: bool) -> Iterator[int]:
    """Beginnings of sentences, in order; the first one is left out.

    A blank line always ends a sentence.

    Args:
        text: a solution.
        at_lines: a line break ends a sentence too, unless displayed maths follows it.
    """
    beginning = 0
    for gap in _GAP.finditer(text):
        start, end = gap.span()
        if end == len(text):
            return
        breaks = line_breaks(text, start, end)
        line_ends = at_lines and breaks and not text.startswith(_DISPLAY, end)
        if (
            len(breaks) > 1
            or line_ends
            or not gap.group()[0].isspace()
            or _sentence_ends(text, beginning, start, text[end : end + 2])
        ):
            beginning = breaks[-1] if breaks else end
            yield beginning


def _sentence_ends(text: str, beginning: int, end: int, following: str) -> bool:
    """Whether a sentence ends at `end`, where white space begins.

    Args:
        text: the whole text.
        beginning: where the sentence in question began.
        end: offset of the white space.
        following: the first two characters behind the white space.
    """
    ending = text[max(beginning, end - _LOOK_BACK) : end].rstrip(_CLOSERS)
    sign = ending[-1:]
    if sign not in {".", "!", "?"} or not _may_begin(following):
        return False
    if sign != ".":
        return sign == "?" or following[0].isupper()  # `5! = 120` and `n! (n+1)` go on
    if ending.endswith(".."):
        return False
    whole = end - beginning <= _LOOK_BACK
    if whole and _LIST_NUMBER.fullmatch(ending):
        return False
    return not _is_abbreviation(ending, following)


def _may_begin(following: str) -> bool:
    """Whether a sentence may begin so: not in lower case, nor with an operator or a closer."""
    sign = following[0]
    return not (
        sign.islower()
        or sign in ",;:.!?)]}/%&^-"
        or unicodedata.category(sign) == "Sm"
        or following in {"\\)", "\\]", "$ ", "$\n"}
    )


def _is_abbreviation(ending: str, following: str) -> bool:
    """Whether the full stop at the end of `ending` only shortens a word."""
    found = _WORD.search(ending[:-1])
    word = found.group().lower() if found else ""
    if word in _OTHERS or (word in _TITLES and following[0].isupper()):
        return True
    if word in _NUMBERED:
        return following[0].isdigit() or following[0] in "(\\$"
    if _INITIALS.fullmatch(word):
        return word not in _TIME_OF_DAY
    # a name has two initials, `J. R. Smith`; a single letter, `at O. Then`, is a point
    first = len(word) == 1 and _INITIAL.match(following)
    return bool(first or _TWO_INITIALS.search(ending))

"""Regular expressions that come from a configuration: checked before they meet a text.

Python's `re` backtracks, so some patterns take exponential time on some texts. The common cause, a
repeat inside a repeat, is refused; that a pattern is fast cannot be promised in general, so the
caller also bounds the text.
"""

import re
from collections.abc import Iterator

_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEAT = re.compile(r"[*+]|\{(?P<low>\d*)(?P<comma>,?)(?P<high>\d*)\}")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that somebody wrote.

    Raises:
        ValueError: it is no regular expression, it matches the empty text, or it repeats a repeat.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    if compiled.match(""):
        raise ValueError("matches the empty text, so it would cut everywhere; match something")
    if _repeats_a_repeat(pattern):
        raise ValueError(
            "repeats a repeat, as (a+)* does, which can take for ever; write it without one"
        )
    return compiled


def pattern_cuts(text: str, pattern: re.Pattern[str], cut: str) -> Iterator[int]:
    """Offset behind each match (`cut` is `after`), or of each match (`before`)."""
    for found in pattern.finditer(text):
        yield found.end() if cut == "after" else found.start()


def _repeats_a_repeat(pattern: str) -> bool:
    """Whether a group that holds a repeat of varying length is itself repeated."""
    plain = _ESCAPE_OR_SET.sub("x", pattern)
    groups = [False]  # for each open group: does it hold such a repeat?
    at = 0
    while at < len(plain):
        repeat = _REPEAT.match(plain, at)
        if plain[at] == "(":
            groups.append(False)
        elif plain[at] == ")" and len(groups) > 1:
            inner = groups.pop()
            follows = _REPEAT.match(plain, at + 1)
            if inner and follows:
                return True
            groups[-1] = groups[-1] or inner
        elif repeat and _varies(repeat):
            groups[-1] = True
        at = repeat.end() if repeat else at + 1
    return False


def _varies(repeat: re.Match[str]) -> bool:
    return repeat["low"] is None or (repeat["comma"] == "," and repeat["low"] != repeat["high"])

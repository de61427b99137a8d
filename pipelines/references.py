r"""Reference answers: where they stand in a record, and whether they can be one at all.

A reference that is wrong makes every label of its problem wrong, so it is looked at before a model
is asked. Whether it can be read as an answer is for the caller's `lint`
(`stepmill.verifiers.equivalence.lint_reference`); here are the words that stand for no answer.
"""

import re
from collections.abc import Callable
from typing import Literal

Reads = Literal["text", "hashes", "boxed"]
r"""How a column holds the reference: it is the whole text; it stands behind the last `####`, as in
GSM8K; it is in the last `\boxed{…}`, as in MATH's solutions."""

Lint = Callable[[str], str | None]
"""Why a text cannot be a reference answer; None when it can."""

_PLACEHOLDERS = frozenset(
    {"", "-", "?", "n/a", "nan", "null", "notfound", "not found", "no answer", "proof"}
)
"""What sets write where they have no answer, in lower case (NuminaMath: `proof`, `notfound`)."""

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BRACES = re.compile(r"(?P<boxed>\\(?:boxed|fbox)\s*\{)|\\.|(?P<open>\{)|(?P<close>\})", re.DOTALL)


def find_reference(text: str, reads: Reads) -> str | None:
    r"""The reference in a column's text; None when there is none, or a word that says so.

    Behind `####`, the commas of thousands are taken out.
    """
    match reads:
        case "text":
            found: str | None = text.strip()
        case "hashes":
            _, sign, behind = text.rpartition("####")
            found = _THOUSANDS.sub("", behind.strip()) if sign else None
        case "boxed":
            found = last_boxed(text)
    if found is None or found.strip(" .").lower() in _PLACEHOLDERS:
        return None
    return found


def last_boxed(text: str) -> str | None:
    r"""What is in the last `\boxed{…}` or `\fbox{…}` that is closed; None when there is none."""
    opened: list[tuple[bool, int]] = []  # of each open brace: is it a box's, where its text begins
    last = (-1, -1)
    for brace in _BRACES.finditer(text):
        if brace["boxed"] or brace["open"]:
            opened.append((bool(brace["boxed"]), brace.end()))
        elif brace["close"] and opened:
            boxed, start = opened.pop()
            if boxed:
                last = max(last, (start, brace.start()))
    return text[slice(*last)].strip() if last[0] >= 0 else None

"""Reference answers that nothing can be checked against.

Data sets hold references such as "proof", "notfound" or none at all; every verdict against them
would be wrong. They are found before a run spends anything.
"""

from stepmill.verifiers.answers.clean import clean
from stepmill.verifiers.answers.limits import MAX_CHARACTERS, TooLarge
from stepmill.verifiers.answers.mathverify import parse_formula
from stepmill.verifiers.answers.reading import Formula, read
from stepmill.verifiers.answers.words import Nothing, Prose
from stepmill.verifiers.extract import unwrap_answer

_SENTINELS = frozenset(
    (
        "notfound", "not found", "proof", "see proof", "see solution", "omitted", "none given",
        "n/a", "na", "nan", "null", "todo", "tbd", "unknown", "answer", "no answer", "error", "-",
        "--", "…", "varies", "answers vary", "answers may vary", "not available", "prove it",
    )
)  # fmt: skip


def lint_reference(answer: str | None) -> str | None:
    """Why predictions cannot be compared with this reference answer; None when they can.

    `empty`, `sentinel` (a word that stands for a missing answer), `prose`, `too-large`, or
    `unparsed` (mathematics that neither the exact forms nor math-verify read).
    """
    if answer is None or not answer.strip():
        return "empty"
    if len(answer) > MAX_CHARACTERS:
        return "too-large"
    text = clean(unwrap_answer(answer))
    if not text:
        return "empty"
    if text.lower() in _SENTINELS:
        return "sentinel"
    try:
        forms = read(text, "mdy")
    except TooLarge:
        return "too-large"
    if Nothing("declined") in forms:
        return "sentinel"
    if isinstance(forms[0], Prose):
        return "prose"
    if isinstance(forms[0], Formula) and parse_formula(text) is None:
        return "unparsed"
    return None

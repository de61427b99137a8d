"""Answers that are words: choices, yes and no, "no solution", names.

Each form says what was read; `same_…` compares two of a kind and returns True, False, or None when
they cannot be told apart for sure ("east" and "due east").
"""

import re
from dataclasses import dataclass
from typing import Literal

from stepmill.verifiers.answers.policy import AnswerPolicy

_MAX_WORDS = 6
"""More words are prose, not an answer."""


@dataclass(frozen=True, slots=True)
class YesNo:
    """Yes or no, true or false."""

    yes: bool
    of_truth: bool
    """Written as true or false."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """An answer that says that there is none."""

    kind: Literal["none", "empty", "undefined", "undetermined", "declined"]
    """`none`: no solution; `declined`: "I don't know", which is never right."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The letter of an option."""

    letter: str
    """Upper case, A to J."""
    rest: str
    """What stands behind it, `12` in `(B) 12`; often the option's text."""


@dataclass(frozen=True, slots=True)
class Words:
    """A name or a short phrase."""

    words: tuple[str, ...]
    """Without case, articles and punctuation."""
    spelled: tuple[str, ...]
    """The same words with their case."""


@dataclass(frozen=True, slots=True)
class Prose:
    """Text that is not read: too long, or of no known form."""

    text: str


_YES = {"yes": (True, False), "no": (False, False), "true": (True, True), "false": (False, True)}
_YES_SENTENCE = re.compile(r"(yes|no|true|false)[,;:.!] ?\S")
_NOTHING: dict[str, Literal["none", "empty", "undefined", "undetermined", "declined"]] = {
    "none": "none", "no solution": "none", "no solutions": "none", "nothing": "none",
    "no real solution": "none", "no real solutions": "none", "no such value": "none",
    "no such number": "none", "no such numbers": "none", "no values": "none", "no roots": "none",
    "no real roots": "none", "there is no solution": "none", "there are no solutions": "none",
    "∅": "empty", "⦃⦄": "empty", "⦃ ⦄": "empty", "{}": "empty", "empty set": "empty",
    "the empty set": "empty", "null set": "empty",
    "dne": "undefined", "does not exist": "undefined", "undefined": "undefined",
    "not defined": "undefined", "do not exist": "undefined", "it does not exist": "undefined",
    "cannot be determined": "undetermined", "not enough information": "undetermined",
    "insufficient information": "undetermined", "cannot be concluded": "undetermined",
    "can't be determined": "undetermined", "indeterminate": "undetermined",
    "i don't know": "declined", "i do not know": "declined", "don't know": "declined",
    "not sure": "declined", "i'm not sure": "declined", "i am not sure": "declined",
    "idk": "declined", "?": "declined", "??": "declined",
}  # fmt: skip
_CHOICE = re.compile(
    r"[(\[]? ?([A-J]) ?[)\]]?|[(\[] ?([A-J]) ?[)\]] ?[:.]? ?(.+)|([A-J]) ?[.):] ?(\S.*)", re.I
)
_OPTION = re.compile(r"(?:option|choice|answer) [(\[]?([A-J])[)\]]?(?:[ .:)]+(.*))?", re.I)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ARTICLES = frozenset(("a", "an", "the"))
_NOT_WORDS = frozenset("=<>≤≥≠+*/^\\_{}[]|⦃⦄⟨⟩∪∩∈±∓√π∞°$€£%")


def read_yes_no(text: str) -> YesNo | None:
    """Yes or no; a reason may follow after a comma."""
    lowered = text.lower()
    if lowered not in _YES:
        sentence = _YES_SENTENCE.match(lowered)
        if sentence is None:
            return None
        lowered = sentence[1]
    return YesNo(*_YES[lowered])


def read_nothing(text: str) -> Nothing | None:
    """One of the ways to say that there is no answer."""
    kind = _NOTHING.get(text.lower().rstrip("!"))
    return None if kind is None else Nothing(kind)


def read_choice(text: str) -> Choice | None:
    """A single letter from A to J, alone or before its text."""
    if len(text) > 1 and text[0] not in "([" and text[1] not in " .):" and text[0] not in "ocaOCA":
        return None
    found = _CHOICE.fullmatch(text)
    if found:
        letter, rest = found[1] or found[2] or found[4], found[3] or found[5] or ""
        if not rest or found[2] or text[1:2] in (".", ")", ":") or text[2:3] in (".", ")", ":"):
            return Choice(letter.upper(), rest)
    option = _OPTION.fullmatch(text)
    return Choice(option[1].upper(), option[2] or "") if option else None


def read_words(text: str) -> Words | Prose:
    """Words, or prose when there are too many of them, or none."""
    spelled = tuple(_WORD.findall(text.replace("’", "'")))
    kept = tuple(w for w in spelled if w.lower() not in _ARTICLES)
    if not kept or len(spelled) > _MAX_WORDS or not _NOT_WORDS.isdisjoint(text):
        return Prose(text)
    return Words(tuple(w.lower() for w in kept), kept)


def same_yes_no(a: YesNo, b: YesNo, policy: AnswerPolicy) -> bool:
    """Equal when they say the same in the same way, or in either way by the policy."""
    return a.yes == b.yes and (a.of_truth == b.of_truth or policy.yes_is_true)


def same_nothing(a: Nothing, b: Nothing, policy: AnswerPolicy) -> bool | None:
    """Equal kinds are equal, but for "I don't know"; "no solution" may be the empty set."""
    if "declined" in (a.kind, b.kind):
        return False
    if a.kind == b.kind:
        return True
    if {a.kind, b.kind} == {"none", "empty"}:
        return policy.empty_set_is_no_solution
    return None


def same_words(a: Words, b: Words, policy: AnswerPolicy) -> bool | None:
    """Equal words are equal; when one side says more words than the other nothing is known."""
    left, right = (a.words, b.words) if policy.ignore_case else (a.spelled, b.spelled)
    if left == right or tuple(map(_singular, left)) == tuple(map(_singular, right)):
        return True
    small, large = sorted((set(map(_singular, left)), set(map(_singular, right))), key=len)
    return None if small <= large else False


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word

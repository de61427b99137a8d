"""The options that a multiple-choice question lists, and which of them an answer means.

An answer may name an option by its letter or by its text (`B` or `12`); with the options known,
both are one thing.
"""

import re
from collections.abc import Callable

from stepmill.verifiers.answers.clean import clean
from stepmill.verifiers.answers.words import read_choice

_OPTION = re.compile(r"(?:^|(?<=[\s,;]))[(\[]?([A-J])[)\].:]\s*", re.M)


def listed_options(question: str) -> dict[str, str]:
    """Letter and text of each option; empty when the question lists fewer than two.

    The list is the last run of the letters A, B, C, … in order, each before `)`, `.`, `:` or in
    brackets.
    """
    marks = list(_OPTION.finditer(question))
    starts = [i for i, m in enumerate(marks) if m[1] == "A"]
    if not starts:
        return {}
    run: list[re.Match[str]] = []
    for mark in marks[starts[-1] :]:
        if mark[1] != chr(ord("A") + len(run)):
            break
        run.append(mark)
    if len(run) < 2:
        return {}
    ends = [m.start() for m in run[1:]] + [len(question)]
    texts = [question[m.end() : end].strip(" \t\n,;") for m, end in zip(run, ends, strict=True)]
    texts[-1] = texts[-1].partition("\n\n")[0].strip()
    return {m[1]: text for m, text in zip(run, texts, strict=True)}


def option_meant(
    answer: str, options: dict[str, str], same: Callable[[str, str], bool | None]
) -> str | None:
    """Letter of the option that an answer means; empty when it means none, None when unclear.

    Args:
        answer: a letter, a letter with text, or an option's text.
        options: by letter.
        same: whether two answers are equal.
    """
    choice = read_choice(clean(answer))
    if choice is not None and (choice.letter in options or not options):
        if choice.rest and options and same(options[choice.letter], choice.rest) is False:
            return None  # the letter of one option with another text
        return choice.letter
    if not options:
        return None
    equal = {letter: same(text, answer) for letter, text in options.items()}
    matching = [letter for letter, found in equal.items() if found]
    if len(matching) == 1:
        return matching[0]
    return None if matching or None in equal.values() else ""

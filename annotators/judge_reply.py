r"""What a judge's reply says: the first wrong step, or nothing.

A reply counts only if it says the same thing twice: a verdict line for each paragraph up to the
first wrong one, and that paragraph's number in \boxed{}. The repetition costs a few tokens and
shows whether the judge looked at the solution it was given; a reply that was cut, skips or invents
paragraphs, contradicts itself, or obeys some text in place of the task does not pass. Decoration is
tolerated. Nothing here raises on any text; a reply that does not count is no vote, with the reason.

Source: the format constraints of SPARK (one box, as many steps as asked), made stricter.
"""

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"[\W_]*paragraph[\s_#]*([0-9]{1,6})[\W_]*(?:is[\W_]+)?"
    r"(correct|incorrect|wrong)(?!\s*(?!because\b|since\b)\w).*",
    re.IGNORECASE | re.DOTALL,
)
"""`Paragraph 3: wrong`, also `**Paragraph 3** is wrong because …` and `<paragraph_3>: wrong`. Any
other word right behind the verdict (`correct or wrong`) makes it another sentence."""
_WRAPPED = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_BOX = re.compile(r"\\boxed\s*\{([^{}]*)\}")
_INDEX = re.compile(
    r"[\s$]*(?:paragraph[\s_#]*)?([-\u2212\u2013]?)\s*([0-9]{1,6})[\s$.]*", re.IGNORECASE
)


GUIDE = (
    r"([\s\S]{0,2000}\n)?(Paragraph [0-9]{1,3}: (correct|wrong)\n){1,999}\\boxed\{(-1|[0-9]{1,3})\}"
)
"""Form of a reply for engines that decode by a regular expression: reasoning of at most 2,000
characters, verdict lines, a box. What the lines say is still to be checked."""


@dataclass(frozen=True, slots=True)
class Vote:
    """What one reply says."""

    first_error: int | None
    """0-based index of the first wrong step; -1: none; None: the reply does not count."""
    reason: str = ""
    """Why it does not count: `cut`, `empty`, `no-box`, `box-unread`, `boxes-differ`,
    `no-such-step`, `no-verdict-lines`, `steps-missing` or `contradictory`."""


def read_vote(text: str, n_steps: int, finish_reason: str) -> Vote:
    """Read a reply about a solution of `n_steps` steps.

    Args:
        text: the reply. Reasoning up to the last `</think>` is passed over.
        n_steps: at least 1.
        finish_reason: how it ended; only `stop` ends a whole reply.
    """
    if finish_reason != "stop":
        return Vote(None, "cut")
    _, closed, said = text.rpartition("</think>")
    if not closed and "<think>" in text:
        return Vote(None, "cut")
    said = said if closed else text
    if not said.strip():
        return Vote(None, "empty")
    boxed = _read_box(said)
    if isinstance(boxed, Vote):
        return boxed
    if not -1 <= boxed < n_steps:
        return Vote(None, "no-such-step")
    fault = _fault(_verdict_lines(said), boxed, n_steps)
    return Vote(None, fault) if fault else Vote(boxed)


def _read_box(text: str) -> int | Vote:
    """The index in the box or boxes, or why there is none."""
    if "\\boxed" not in text:
        return Vote(None, "no-box")
    text = _WRAPPED.sub(r"\1", text)
    contents = _BOX.findall(text)
    found = [_INDEX.fullmatch(content) for content in contents]
    if len(contents) < text.count("\\boxed"):
        return Vote(None, "box-unread")
    indices = set()
    for match in found:
        if match is None:
            return Vote(None, "box-unread")
        indices.add(-int(match[2]) if match[1] else int(match[2]))
    return indices.pop() if len(indices) == 1 else Vote(None, "boxes-differ")


def _verdict_lines(text: str) -> list[tuple[int, bool]]:
    """(paragraph, whether it is called correct) of each verdict line, in order."""
    lines = map(_LINE.fullmatch, text.splitlines())
    return [(int(m[1]), m[2].lower() == "correct") for m in lines if m]


def _fault(lines: list[tuple[int, bool]], boxed: int, n_steps: int) -> str:
    """Why the verdict lines do not say what the box says; empty when they do."""
    if not lines:
        return "no-verdict-lines"
    verdicts = dict(lines)
    if any(verdicts[index] != verdict for index, verdict in lines):
        return "contradictory"
    if max(verdicts) >= n_steps:
        return "no-such-step"
    last = n_steps - 1 if boxed == -1 else boxed
    if any(index not in verdicts for index in range(last + 1)):
        return "steps-missing"
    first = next((index for index in sorted(verdicts) if not verdicts[index]), -1)
    return "" if first == boxed else "contradictory"

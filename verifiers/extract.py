r"""The final answer in the text of a whole solution: the last marker that announces one.

Markers are `\boxed{}`, `<answer>` tags, a `####` line and "Final Answer:"; where there is none of
them, other phrases ("the answer is", a line that begins with `A:`). Whatever comes last wins,
because a long text states many numbers on its way. Nothing is compared or parsed here, and a text
without a marker has no answer unless a fallback is asked for.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Fallback = Literal["none", "last-line", "last-number"]


@dataclass(frozen=True, slots=True)
class Extracted:
    """An answer as it stands in the text."""

    text: str
    marker: str
    """`boxed`, `tag`, `hash`, `phrase`, `bold`, `last-line` or `last-number`."""
    start: int
    """Where in the text the answer begins."""
    complete: bool
    """Whether the text itself shows that the answer ends here: a closed box or tag, a line that
    was ended. A text cut off by a token limit may end within an answer that is not complete."""


_BOX = re.compile(r"\\f?box(?:ed)?(?![A-Za-z])\s*(\{|[^\s{$\\]|\\[A-Za-z]+)?")
_BRACES = re.compile(r"\\.|[{}]", re.S)
_BETWEEN_BOXES = re.compile(
    r"[\s$]*(?:,|;|and|or|\\text\{\s*(?:and|or)\s*\}|\\(?:quad|qquad|,))?[\s$]*"
)
_HASH = re.compile(r"^####(?!#)[ \t]*(\S.*)$", re.M)
_HEADING = re.compile(
    r"(?:step|part|case|solution|problem|note|example|conclusion|explanation|given|method|approach)\b",
    re.I,
)
_PHRASE = re.compile(
    r"\b(?:answers?|ans\.?)(?:\s*\**\s*[:=]"
    r"|[\s,]\s*(?:[^.\n:=$\\]{0,60}?\s)??"
    r"(?:is|are|would be|will be|must be|should be|becomes|equals)\b(?! (?:not|in|as)\b)\s*:?)"
    r"|\banswer\s+(?=\$|\\\(|\\\[)|\b(?:correct|right|best) (?:option|choice)\s+is\b\s*:?"
    r"|^[ \t>*_]*A(?:nswer)?\**:(?!:)",
    re.I | re.M,
)
_FINAL = re.compile(r"final[\s*]*$", re.I)
_MAX_PHRASES = 50
_FIRST_OPTION = re.compile(r"[ \t>*_]*A\**:")
_LISTED_OPTION = re.compile(r"^[ \t>*_(]*B\)?\**:", re.M)
_SENTENCE_END = re.compile(r"(?<!\b[ap]\.m)[.!?](?=\s|$)|(?<=\b[ap]\.m)\.(?=\s+[A-Z]|$)")
_CLAUSE = re.compile(
    r",? (?:because|since|as shown|which|so that|therefore|where|when)\b|[;,] (?:as|so) "
)
_DISPLAY = re.compile(r"\s*(\$\$.{1,2000}?\$\$|\\\[.{1,2000}?\\\])", re.S)
_MATHS = re.compile(r"\$[^$]*\$|\\\(.{0,500}?\\\)|\{[^{}]*\}")
_NO_ANSWER = re.compile(
    r"(?:correct|incorrect|wrong|helpful|clear|obvious|reasonable|therefore|obtained|found|given"
    r"|below|above|follows|expected|that|because|based|unique|also|still|too|about|required|needed"
    r"|written|expressed|supposed|rounded|simplified|verified|consistent|only)\b",
    re.I,
)
_TOLD = re.compile(r"(?:[A-Z][a-z]*|the|it|there|he|she|they)\b.*\s(?:is|are|equals)\s+(\S.*)")
"""`The largest $n$ is 34`: a sentence whose end is the answer."""
_BOLD = re.compile(r"\*\*(?!\s)([^*\n]+?)(?<!\s)\*\*|\\textbf\{([^{}\n]+)\}")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{3}")
_NUMBER = re.compile(r"-?\$?\d[\d,]*(?:\.\d+)?(?:\s?/\s?\d+)?%?")
_TRIGGER = re.compile(r"box|answer|ans\b|####|^[ \t>*_]*A\**:|(?:option|choice) is", re.I | re.M)


def extract_answer(text: str, fallback: Fallback = "none") -> Extracted | None:
    """The final answer of a solution; None when it states none.

    Args:
        text: the whole solution, prefix included.
        fallback: what a text without a marker gives. `last-line`: the bold part of its last line,
            or the line itself when it is nothing but an answer; `last-number`: else the last
            number of that line.
    """
    candidates: list[Extracted] = []
    if _TRIGGER.search(text) or "<answer>" in text:
        phrases = _phrases(text)
        box, final = _last_box(text), _announced(text, [p for p in phrases if _is_final(text, p)])
        if box == "unfinished" or final == "unfinished":
            return None  # the last answer was begun and is not there
        found = (box, _last_tag(text), _last_hash(text), final)
        candidates = [c for c in found if isinstance(c, Extracted)]
        if not candidates and phrases:
            other = _announced(text, phrases)
            if other is not None:
                return other if isinstance(other, Extracted) else None
    if candidates:
        return max(candidates, key=lambda c: c.start)
    return None if fallback == "none" else _from_last_line(text, fallback)


def unwrap_answer(answer: str) -> str:
    """The inner answer of a short text that may still carry its marker (`A: 7`)."""
    if not _TRIGGER.search(answer):
        return answer
    found = extract_answer(answer)
    return answer if found is None else found.text


def _last_box(text: str) -> "Extracted | Literal['unfinished'] | None":
    """The last box that is in no other, joined with those that stand right before it."""
    if "box" not in text:
        return None
    closing = _closing_braces(text)
    boxes = list(_outer_boxes(text, closing))
    if not boxes:
        return None
    start, inside, end = boxes[-1]
    if end < 0:
        return "unfinished"
    parts, first = [text[inside:end].strip()], inside
    for before_start, before_inside, before_end in reversed(boxes[:-1]):
        joined = text[before_end:start].removeprefix("}")
        if before_end < 0 or not _BETWEEN_BOXES.fullmatch(joined) or "\n" in joined:
            break
        parts.insert(0, text[before_inside:before_end].strip())
        start, first = before_start, before_inside
    return Extracted(", ".join(dict.fromkeys(parts)), "boxed", first, complete=True)


def _outer_boxes(text: str, closing: dict[int, int]) -> Iterator[tuple[int, int, int]]:
    """Spans (start of the macro, start and end of the content); the end is -1 when not closed."""
    position = 0
    while found := _BOX.search(text, position):
        argument = found[1]
        if argument == "{":
            inside = found.end()
            end = closing.get(inside - 1, -1)
            yield found.start(), inside, end
        elif argument:  # `\\boxed 5` takes one token, as TeX does
            end = found.end()
            yield found.start(), found.start(1), end
        else:
            end = -1
            yield found.start(), found.end(), end
        position = max(found.end(), end)


def _closing_braces(text: str) -> dict[int, int]:
    """Index of each opening brace with the index of its closing one, in one pass."""
    opened: list[int] = []
    closing: dict[int, int] = {}
    for found in _BRACES.finditer(text):
        if found[0] == "{":
            opened.append(found.start())
        elif found[0] == "}" and opened:
            closing[opened.pop()] = found.start()
    return closing


def _last_tag(text: str) -> Extracted | None:
    lowered = text.lower()
    end = lowered.rfind("</answer>")
    start = lowered.rfind("<answer>", 0, max(end, 0))
    if start < 0:
        return None
    start += len("<answer>")
    return _stripped(text, start, end, "tag", complete=True)


def _last_hash(text: str) -> Extracted | None:
    """The last line `#### 42`; a Markdown heading of that level is none."""
    for found in reversed(list(_HASH.finditer(text))):
        content = found[1].strip()
        short = any(c.isdigit() for c in content) or len(content.split()) <= 3
        if len(content) <= 80 and short and not _HEADING.match(content.strip("*# ")):
            return Extracted(content, "hash", found.start(1), complete=found.end() < len(text))
    return None


def _phrases(text: str) -> list[re.Match[str]]:
    """The last phrases that may announce an answer; the first of a list of options is none."""
    phrases = list(_PHRASE.finditer(text))[-_MAX_PHRASES:]
    if _LISTED_OPTION.search(text):
        return [p for p in phrases if not _FIRST_OPTION.fullmatch(p[0])]
    return phrases


def _is_final(text: str, phrase: re.Match[str]) -> bool:
    """Whether a phrase calls its answer final."""
    before = text[max(0, phrase.start() - 12) : phrase.start()]
    return _FINAL.search(before) is not None


def _announced(
    text: str, phrases: list[re.Match[str]]
) -> "Extracted | Literal['unfinished'] | None":
    """What the last of some phrases announces."""
    for phrase in reversed(phrases):
        content = _after_phrase(text, phrase.end())
        if content is not None:
            return content
    return None


def _after_phrase(text: str, position: int) -> "Extracted | Literal['unfinished'] | None":
    """What a phrase announces: the rest of its line, or the next line, up to the sentence's end."""
    while position < len(text) and text[position] in " \t*_:\r":
        position += 1
    display = _DISPLAY.match(text, position)
    if display:
        return Extracted(display[1], "phrase", display.start(1), complete=True)
    while position < len(text) and text[position] in " \t*_:\r\n>":
        position += 1
    if position == len(text):
        return "unfinished"
    line_end = text.find("\n", position)
    line = text[position:] if line_end < 0 else text[position:line_end]
    end, ended = _cut(line)
    content = line[:end].strip().strip("*_ \t").rstrip(",;")
    told = _TOLD.fullmatch(content)
    if told:
        position += line.find(told[1], told.start(1))
        content = told[1]
    if not content or (_NO_ANSWER.match(content) and not re.search(r"[\d$\\]", content)):
        return None
    return Extracted(content, "phrase", position, complete=ended or line_end >= 0)


def _cut(line: str) -> tuple[int, bool]:
    """Where a sentence ends, outside of mathematics, and whether it does before the line's end."""
    masked = _MATHS.sub(lambda m: "x" * len(m[0]), line)
    ends = [m.start() for m in (_SENTENCE_END.search(masked), _CLAUSE.search(masked)) if m]
    end = min((e for e in ends if e > 0), default=len(line))
    return end, end < len(line.rstrip()) - 1


def _from_last_line(text: str, fallback: Fallback) -> Extracted | None:
    line = text.rstrip().rpartition("\n")[2]
    begin = len(text.rstrip()) - len(line)
    bold = list(_BOLD.finditer(line))
    if bold and not _HEADING.match((bold[-1][1] or bold[-1][2]).strip()):
        group = 1 if bold[-1][1] else 2
        start = begin + bold[-1].start(group)
        return _stripped(text, start, start + len(bold[-1][group].rstrip(" :")), "bold")
    bare = line.strip()
    if re.search(r"[\dA-Za-z]", bare) and not _WORD.search(_COMMAND.sub(" ", bare)):
        return _stripped(text, begin, begin + len(line), "last-line")
    numbers = list(_NUMBER.finditer(line)) if fallback == "last-number" else []
    if not numbers:
        return None
    found = numbers[-1]
    return _stripped(text, begin + found.start(), begin + found.end(), "last-number")


def _stripped(text: str, start: int, end: int, marker: str, complete: bool = False) -> Extracted:
    """The span of a text without the white space around it."""
    content = text[start:end]
    start += len(content) - len(content.lstrip())
    return Extracted(content.strip(), marker, start, complete)

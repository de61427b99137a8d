r"""Spans of a solution that no cut may fall into: maths, code, tables, numbers, links.

Markdown blocks come first (fenced code, tables); between them, one pass from the left takes
whatever opens and closes: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`, `\begin…\end`, `[asy]…[/asy]`,
`\boxed{…}`, inline code. What opens and never closes is plain text, so that one stray sign costs a
paragraph at most. Time is linear in the text. Nothing here knows of steps.

A dollar sign is also money. Whether two of them enclose maths follows Pandoc's rule for
`tex_math_dollars` (https://pandoc.org/MANUAL.html), eased for the spaces that models write inside,
and tightened by one thing: two plain words in a row between them are prose.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from itertools import accumulate
from typing import NamedTuple

from stepmill.pipelines.lines import LINE_BREAK, line_breaks

Span = tuple[int, int]
"""Half-open range of characters."""

_INLINE = re.compile(
    rf"""
    (?=[\\$`{{}}\[\r\n.…\dh]|[^\W\d_]\.)(?:    # what may begin one; most characters end here
      (?P<whole>
          (?<!`)(?P<ticks>`{{1,3}})(?!`) [^`\r\n]{{1,200}} (?P=ticks)(?!`)    # inline code
        | https?://\S*[^\s.,;:!?)\]}}"'>]
        | (?<!\d)\d++(?:[.,:]\d++)++                                # 3.14  1,000  12:30
        | \.\.++ | …
        | (?<![^\W_])(?:[^\W\d_]\.){{2,}}                           # e.g.  U.S.
      )
    | \\begin\{{(?P<begin>[^{{}}\s]{{1,40}})\}}
    | \\end\{{(?P<end>[^{{}}\s]{{1,40}})\}}
    | (?P<boxed>\\(?:boxed|fbox)[ ]?\{{)
    | (?P<round>\\\()   | (?P<round_close>\\\))
    | (?P<square>\\\[)  | (?P<square_close>\\\])
    | (?P<asy>\[asy\])  | (?P<asy_close>\[/asy\])
    | \\\S                                                          # \$  \{{  \\  \frac
    | (?P<brace>\{{)    | (?P<brace_close>\}})
    | (?P<display>\$\$) | (?P<dollar>\$)
    | (?P<paragraph>{LINE_BREAK}[^\S\r\n]*{LINE_BREAK})
    )""",
    re.VERBOSE,
)
# Every alternative fails in bounded time or consumes what it looked at: possessive repeats and the
# look-behinds keep long runs of digits, dots or letters linear.

_FENCE = re.compile(r"[ \t]*(?P<run>`{3,}|~{3,})")
_LINE = re.compile(rf"(?P<line>[^\r\n]*)(?:{LINE_BREAK}|\Z)")
_TABLE_RULE_CELL = re.compile(r"[ \t]*:?-+:?[ \t]*")
_TWO_WORDS = re.compile(r"(?<![^\W\d_])(?<!\\)[^\W\d_]{2,}[ \t\r\n][^\W\d_]{2,}")


_ENDS_INLINE = frozenset({"dollar", "display", "paragraph"})
_ALONE_BEFORE = re.compile(r"(?:\A|[\r\n])[^\S\r\n]{0,20}\Z")
_ALONE_AFTER = re.compile(r"\Z|[^\S\r\n]{0,20}[\r\n]")


class _Token(NamedTuple):
    kind: str
    start: int
    end: int
    name: str


def protected_spans(text: str) -> list[Span]:
    """Spans of `text` that stay whole: disjoint, in order; a cut at either end is allowed."""
    spans: list[Span] = []
    at = 0
    for start, end in [*_block_spans(text), (len(text), len(text))]:
        spans += _inline_spans(text, at, start)
        if end > start:
            spans.append((start, end))
        at = end
    return spans


def _block_spans(text: str) -> list[Span]:
    """Fenced code and tables, whole lines without the line break of the last one.

    A fence that is never closed holds the lines down to the next blank one: it is either the end
    of a truncated text or a stray mark, and should cost no more than its paragraph. A line that
    begins like one and is none, as "```x``` is", holds itself, so that what a line is never hangs
    on a part of it.
    """
    if "```" not in text and "~~~" not in text and "|" not in text:
        return []
    lines = [m.span("line") for m in _LINE.finditer(text)]
    fences = {i: m["run"] for i, span in enumerate(lines) if (m := _FENCE.match(text, *span))}
    closers = {sign: _BareFences(text, lines, fences, sign) for sign in "`~"}
    spans: list[Span] = []
    i = 0
    while i < len(lines):
        last = None
        if i in fences:
            run = fences[i]
            inline = "`" in text[slice(*lines[i])].strip().removeprefix(run)
            last = i if inline else closers[run[0]].closing(i, len(run))
            if last is None:
                last = i
                while last + 1 < len(lines) and text[slice(*lines[last + 1])].strip():
                    last += 1
        elif _is_table_head(text, lines, i):
            last = i + 1
            while last + 1 < len(lines) and "|" in text[slice(*lines[last + 1])]:
                last += 1
        if last is not None:
            spans.append((lines[i][0], lines[last][1]))
        i = i + 1 if last is None else last + 1
    return spans


class _BareFences:
    """Finds the line that closes fenced code: a bare fence of the same sign, no shorter."""

    def __init__(self, text: str, lines: list[Span], fences: dict[int, str], sign: str) -> None:
        bare = [(i, len(run)) for i, run in fences.items() if text[slice(*lines[i])].strip() == run]
        bare = [(i, n) for i, n in bare if fences[i][0] == sign]
        self._lines = [i for i, _ in bare]
        self._lengths = [n for _, n in bare]
        # Longest one from each to the end, so that a search that must fail costs nothing.
        self._longest = [*accumulate(reversed(self._lengths), max)][::-1]

    def closing(self, line: int, length: int) -> int | None:
        """First such line after `line`; None when there is none."""
        k = bisect_right(self._lines, line)
        if k == len(self._lines) or self._longest[k] < length:
            return None
        while self._lengths[k] < length:
            k += 1
        return self._lines[k]


def _is_table_head(text: str, lines: list[Span], i: int) -> bool:
    """Whether line `i` is a table's header, that is, a line such as `|---|:-:|` follows it."""
    if i + 1 >= len(lines) or "|" not in text[slice(*lines[i])]:
        return False
    rule = text[slice(*lines[i + 1])].strip()
    if "|" not in rule:
        return False
    return all(map(_TABLE_RULE_CELL.fullmatch, rule.strip("|").split("|")))


def _inline_spans(text: str, start: int, end: int) -> list[Span]:
    tokens = [
        _Token(m.lastgroup, m.start(), m.end(), m["begin"] or m["end"] or "")
        for m in _INLINE.finditer(text, start, end)
        if m.lastgroup
    ]
    closers = _pairs(tokens)
    spans: list[Span] = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        match token.kind:
            case "whole":
                last: int | None = i
            case "dollar":
                last = _closing_dollar(text, tokens, i)
            case "display":
                last = _closing_display(text, tokens, i)
            case _:
                last = closers.get(i)
        if last is None:
            i += 1
            continue
        closer = tokens[last]
        if token.kind == "dollar" and closer.kind == "display":
            # `$a$$b$`: the first of the two signs closes, the second opens again
            tokens[last] = closer._replace(kind="dollar", start=closer.start + 1)
            spans.append((token.start, closer.start + 1))
            i = last
        else:
            spans.append((token.start, closer.end))
            i = last + 1
    return spans


def _pairs(tokens: list[_Token]) -> dict[int, int]:
    r"""Closer of each token whose closer looks unlike it, by index.

    An environment may hold another of its name, and `\boxed` other braces; of two openers of the
    other kinds in a row, the first is taken as never closed.
    """
    closers: dict[int, int] = {}
    environments: dict[str, list[int]] = defaultdict(list)
    braces: list[int] = []
    opened: dict[str, int] = {}
    for i, (kind, _, _, name) in enumerate(tokens):
        match kind:
            case "begin":
                environments[name].append(i)
            case "end" if environments[name]:
                closers[environments[name].pop()] = i
            case "boxed" | "brace":
                braces.append(i)
            case "brace_close" if braces:
                opener = braces.pop()
                if tokens[opener].kind == "boxed":
                    closers[opener] = i
            case "round" | "square" | "asy":
                opened[kind] = i
            case "round_close" | "square_close" | "asy_close":
                family = kind.removesuffix("_close")
                if family in opened:
                    closers[opened.pop(family)] = i
    return closers


def _closing_dollar(text: str, tokens: list[_Token], i: int) -> int | None:
    """Token that ends the inline maths opened at `tokens[i]`; None when that sign is no opener."""
    opener = tokens[i].start
    first, second = text[opener + 1 : opener + 2], text[opener + 2 : opener + 3]
    if (
        not first
        or first in ")]},;:!?%"
        or first + second == "<<"
        or (first == "." != second and not second.isdigit())
    ):
        return None  # money: `5$.`, `(20$)`, and `$<<4*5=20>>20` as GSM8K has it
    last = next(
        (j for j in range(i + 1, len(tokens)) if tokens[j].kind in _ENDS_INLINE), len(tokens)
    )
    if last == len(tokens) or tokens[last].kind == "paragraph":
        return None
    closer = tokens[last].start
    before, after = text[closer - 1], text[closer + 1 : closer + 2]
    if before.isspace() and after and (after.isalnum() or after in "\\({[$"):
        return None  # `$5 and $x$`: the second sign opens
    amount = first.isspace() or first.isdigit() or first == "."
    if amount and (after.isdigit() or line_breaks(text, opener, closer)):
        return None  # it may be money, so the evidence for maths has to be better
    return None if _has_prose(text, opener + 1, closer) else last


def _closing_display(text: str, tokens: list[_Token], i: int) -> int | None:
    """Token that ends the maths opened by the `$$` at `tokens[i]`; None when none does.

    Across a blank line, both signs must be alone on the outer side of their lines, and nothing
    between them may read as prose; otherwise one missing `$$` would turn the text inside out.
    """
    crossed = False
    for j in range(i + 1, len(tokens)):
        crossed = crossed or tokens[j].kind == "paragraph"
        if tokens[j].kind == "display":
            before = text[max(0, tokens[i].start - 21) : tokens[i].start]
            closed = not crossed or (
                _ALONE_BEFORE.search(before)
                and _ALONE_AFTER.match(text, tokens[j].end)
                and not _has_prose(text, tokens[i].end, tokens[j].start)
            )
            return j if closed else None
    return None


def _has_prose(text: str, start: int, end: int) -> bool:
    r"""Whether two plain words follow one another there, outside braces (`\text{if x is odd}`)."""
    depth, at = 0, start
    for words in _TWO_WORDS.finditer(text, start, end):
        depth += text.count("{", at, words.start()) - text.count("}", at, words.start())
        at = words.start()
        if depth <= 0:
            return True
    return False

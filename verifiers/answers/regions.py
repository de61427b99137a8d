r"""Parts of the number line: intervals, their unions, and inequalities in one variable.

`-1 < x \le 2`, `(-1, 2]`, `2x > 6`, `x \ne 0` and `\mathbb{R} \setminus \{0\}` all become unions of
intervals, whose ends stay canonical text. What is not linear in its variable is left to computer
algebra.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from stepmill.verifiers.answers.evaluate import NotInField, Undefined, exact
from stepmill.verifiers.answers.expressions import parse
from stepmill.verifiers.answers.groups import Group, split_top
from stepmill.verifiers.answers.sameness import sign_of_difference
from stepmill.verifiers.answers.trees import Node, Op, Sym, symbols

INEQUALITIES = frozenset("<>≤≥≠")
_BUILDER = re.compile(r"⦃ ?(\w)(?: ?∈ ?ℝ)? ?[∣|:] ?(.+)⦄")
_ALL_REALS = frozenset(("ℝ", "all real numbers", "all reals", "x∈ℝ", "x ∈ℝ", "x ∈ ℝ"))
_WITHOUT = re.compile(r"(?:ℝ|\( ?-∞ ?, ?∞ ?\)) ?(?:∖|-|except) ?⦃(.+)⦄")
_MEMBER = re.compile(r"\w ?∈ ?")
_MIRRORED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "≠": "≠"}


@dataclass(frozen=True, slots=True)
class Span:
    """An interval; a point when its ends are equal."""

    low: str
    high: str
    closed: tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class Region:
    """A union of intervals, in no order."""

    spans: tuple[Span, ...]


_LINE = Region((Span("-∞", "∞", (False, False)),))


def read_region(text: str) -> Region | None:
    """A part of the number line: inequalities in one variable, unions of intervals."""
    if text in _ALL_REALS:
        return _LINE
    if text.startswith("⦃"):
        builder = _BUILDER.fullmatch(text)
        if builder:
            return read_region(builder[2].strip())
    without = _WITHOUT.fullmatch(text)
    if without:
        return _all_but(split_top(without[1], ",;"))
    if "∪" in text:
        return _read_union(text)
    if " or " in text:
        return _unite([read_region(part.strip()) for part in text.split(" or ")])
    return None if INEQUALITIES.isdisjoint(text) else _read_inequalities(text)


def as_region(group: Group) -> Region | None:
    """The interval that a pair in brackets may be."""
    if group.kind not in ("tuple", "interval") or len(group.items) != 2:
        return None
    return Region((Span(group.items[0], group.items[1], group.closed),))


def _read_union(text: str) -> Region | None:
    spans: list[Span] = []
    for part in split_top(_MEMBER.sub("", text, count=1), "∪"):
        items = split_top(part[1:-1], ",;")
        if part[:1] == "⦃" and part[-1:] == "⦄":
            spans += [Span(item, item, (True, True)) for item in items]
        elif part[:1] in ("(", "[") and part[-1:] in (")", "]") and len(items) == 2:
            spans.append(Span(items[0], items[1], (part[0] == "[", part[-1] == "]")))
        else:
            return None
    return Region(tuple(spans))


def merged(region: Region) -> Region:
    """The same region with spans that touch joined; as it is when an end has no known place."""
    trees = [parse(span.low) for span in region.spans]
    known = [t for t in trees if t is not None]
    order = _sorted_constants(known) if len(known) == len(trees) > 1 else None
    if order is None:
        return region
    spans = [region.spans[order[0]]]
    for index in order[1:]:
        last, following = spans[-1], region.spans[index]
        gap = _sign(following.low, last.high)
        if gap is None:
            return region
        if gap > 0 or (gap == 0 and not (following.closed[0] or last.closed[1])):
            spans.append(following)
            continue
        further = _sign(following.high, last.high)
        if further is None:
            return region
        if further > 0:
            spans[-1] = Span(last.low, following.high, (last.closed[0], following.closed[1]))
        elif further == 0 and following.closed[1]:
            spans[-1] = Span(last.low, last.high, (last.closed[0], True))
    return Region(tuple(spans))


def _sign(a: str, b: str) -> int | None:
    trees = parse(a), parse(b)
    if trees[0] is None or trees[1] is None:
        return None
    return sign_of_difference(trees[0], trees[1])


def _unite(regions: list[Region | None]) -> Region | None:
    known = [r for r in regions if r is not None]
    return Region(sum((r.spans for r in known), ())) if len(known) == len(regions) else None


def _read_inequalities(text: str) -> Region | None:
    """One chain, or several that must hold at once."""
    region: Region | None = None
    for part in split_top(text.replace(" and ", ","), ","):
        single = _read_chain(part)
        if single is None:
            return None
        region = single if region is None else _intersect(region, single)
        if region is None:
            return None
    return region


def _read_chain(text: str) -> Region | None:
    """`a < x ≤ b`, `x > a`, `x ≠ a`, `2x > 6`."""
    signs = [c for c in text if c in INEQUALITIES]
    parts = split_top(text, "".join(sorted(set(signs))))
    if not 1 <= len(signs) <= 2 or len(parts) != len(signs) + 1 or not all(parts):
        return None
    if len(signs) == 2:
        if not isinstance(parse(parts[1]), Sym) or not _one_way(signs):
            return None
        if signs[0] in ">≥":
            parts, signs = parts[::-1], [_MIRRORED[s] for s in reversed(signs)]
        return Region((Span(parts[0], parts[2], (signs[0] == "≤", signs[1] == "≤")),))
    return _half_line(parts[0], signs[0], parts[1])


def _one_way(signs: list[str]) -> bool:
    return set(signs) <= set("<≤") or set(signs) <= set(">≥")


def _half_line(left: str, sign: str, right: str) -> Region | None:
    trees = parse(left), parse(right)
    if trees[0] is None or trees[1] is None:
        return None
    if isinstance(trees[1], Sym) and not symbols(trees[0]):
        left, right, sign = right, left, _MIRRORED[sign]
    elif not (isinstance(trees[0], Sym) and not symbols(trees[1])):
        solved = _solve_linear(Op("sub", (trees[0], trees[1])))
        if solved is None:
            return None
        bound, rising = solved
        right = str(bound)
        sign = sign if rising else _MIRRORED[sign]
    match sign:
        case "≠":
            return _all_but((right,))
        case "<" | "≤":
            return Region((Span("-∞", right, (False, sign == "≤")),))
        case _:
            return Region((Span(right, "∞", (sign == "≥", False)),))


def _solve_linear(difference: Node) -> tuple[Fraction, bool] | None:
    """Root of a linear function of one variable, and whether it rises; None for anything else."""
    names = symbols(difference)
    if len(names) != 1:
        return None
    name = next(iter(names))
    try:
        at = [exact(difference, {name: Fraction(x)}) for x in (0, 1, 2, 7, -5)]
    except (NotInField, Undefined):
        return None
    slope = at[1] - at[0]
    if not slope or any(at[i] != at[0] + slope * x for i, x in ((2, 2), (3, 7), (4, -5))):
        return None
    return -at[0] / slope, slope > 0


def _all_but(points: tuple[str, ...]) -> Region | None:
    """The line without some points, which must be comparable."""
    trees = [parse(p) for p in points]
    known = [t for t in trees if t is not None]
    order = _sorted_constants(known) if len(known) == len(trees) else None
    if order is None:
        return None
    ends = ["-∞", *(points[i] for i in order), "∞"]
    return Region(tuple(Span(a, b, (False, False)) for a, b in pairwise(ends)))


def _sorted_constants(trees: list[Node]) -> list[int] | None:
    order: list[int] = []
    for i, tree in enumerate(trees):
        position = 0
        for j in order:
            compared = sign_of_difference(trees[j], tree)
            if compared is None:
                return None
            position += compared < 0
        order.insert(position, i)
    return order


def _intersect(a: Region, b: Region) -> Region | None:
    """What is in both; None when that is nothing, or an end has no known place."""
    spans: list[Span] = []
    for x in a.spans:
        for y in b.spans:
            lows, highs = _sign(x.low, y.low), _sign(x.high, y.high)
            if lows is None or highs is None:
                return None
            low, left = (x.low, x.closed[0]) if lows > 0 else (y.low, y.closed[0])
            high, right = (x.high, x.closed[1]) if highs < 0 else (y.high, y.closed[1])
            left = left if lows else x.closed[0] and y.closed[0]
            right = right if highs else x.closed[1] and y.closed[1]
            width = _sign(high, low)
            if width is None:
                return None
            if width > 0 or (width == 0 and left and right):
                spans.append(Span(low, high, (left, right)))
    return Region(tuple(spans)) if spans else None

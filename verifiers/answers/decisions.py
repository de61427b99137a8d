"""Three-valued decisions, and how several of them become one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

NEEDS_ALGEBRA = "needs-algebra"
"""Reason of a decision that no exact form can make."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a comparison."""

    same: bool | None
    form: str
    """Which comparison decided: `number`, `interval`, `math-verify`, …; empty when none did."""
    reason: str = ""
    """Why nothing decided, when `same` is None."""


def first_opinion(opinions: Iterable[Decision]) -> Decision | None:
    """The first `equal`, else the first that is not known, else the first `different`."""
    open_one = different = None
    for found in opinions:
        if found.same:
            return found
        if found.same is None:
            open_one = open_one or found
        else:
            different = different or found
    return open_one or different


def all_same(decisions: Iterable[Decision], form: str) -> Decision:
    """Equal when all are; different as soon as one is."""
    reason, undecided = "", False
    for found in decisions:
        if found.same is False:
            return Decision(False, form)
        if found.same is None:
            undecided, reason = True, reason or found.reason
    return Decision(None, form, reason) if undecided else Decision(True, form)


def matched(
    x: Sequence[T], y: Sequence[T], form: str, same: Callable[[T, T], Decision]
) -> Decision:
    """Whether each item has its own equal partner on the other side, in any order."""
    if len(x) != len(y):
        return Decision(False, form)
    met: dict[tuple[int, int], Decision] = {}
    rows, columns = list[int](), list(range(len(y)))
    for row, item in enumerate(x):
        for column in columns:
            met[row, column] = same(item, y[column])
            if met[row, column].same:
                columns.remove(column)
                break
        else:
            rows.append(row)
    lines = [[met[row, column] for column in columns] for row in rows]
    lines += [[met[row, column] for row in rows] for column in columns]
    if any(all(d.same is False for d in line) for line in lines):
        return Decision(False, form)  # one item has no partner
    reason = next((d.reason for line in lines for d in line if d.same is None), None)
    return Decision(True, form) if reason is None else Decision(None, form, reason)


def distinct(items: Sequence[T], same: Callable[[T, T], Decision]) -> list[T]:
    """The items without those that are equal to an earlier one."""
    kept: list[T] = []
    for item in items:
        if not any(same(item, other).same for other in kept):
            kept.append(item)
    return kept

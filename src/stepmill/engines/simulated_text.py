"""How the simulated engine reads the beginning of a solution and writes on.

A text stands somewhere in its question: some operations are done, and it believes in some running
value, the true one or not. From there the writer goes on line by line. It knows the world of
`stepmill.wordproblems` and nothing of engines; every choice comes from the generator it is given.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from stepmill.wordproblems import (
    Operation,
    WordProblem,
    answer_line,
    compute,
    diagnose,
    line_mistake,
    read_answer,
    read_step,
)

_OTHER_SIGN = {"+": "-", "-": "+", "*": "+", "/": "-"}
_SLIPS = (1, -1, 2, -2, 10, -10)


@dataclass(frozen=True, slots=True)
class Habits:
    """How a writer errs."""

    skill: float
    """Probability that a step is right while all before it are, in [0, 1]."""
    self_correction: float
    """Probability that a text with a mistake still ends with the right answer, in [0, 1]."""
    kinds: Sequence[str]
    """Kinds of error: `arithmetic`, `operand`, `operation`, `skipped`; see
    `stepmill.wordproblems.Mistake`."""
    weights: Sequence[float]
    """How often each kind comes, relative to the others."""


class Place:
    """Where a text stands in its question, by the figures that the text itself gives."""

    __slots__ = ("at", "number", "problem", "total", "value")

    def __init__(self, problem: WordProblem) -> None:
        self.problem = problem
        self.number = 0
        """Step lines so far."""
        self.at = 0
        """Index of the operation that comes next; the number of operations when all are done."""
        self.value = problem.value_before(0)
        """The running value."""
        self.total: int | None = None
        """What the line before counted, when the next operation adds or takes it."""

    def copy(self) -> "Place":
        """The same place, to go on from."""
        other = Place.__new__(Place)
        other.problem, other.number, other.at = self.problem, self.number, self.at
        other.value, other.total = self.value, self.total
        return other

    @property
    def done(self) -> bool:
        """Whether only the answer line is left."""
        return self.at >= len(self.problem.steps)

    def operation(self, at: int) -> Operation:
        """Operation `at`, done on the text's own figures."""
        step = self.problem.steps[at]
        if step.aside:
            return step
        right = self.total if self.total is not None and at == self.at else step.right
        result = compute(self.value, step.symbol, right)
        if result is None:  # half of an odd value, which only a wrong text has
            result = self.value // 2
        return Operation(self.value, step.symbol, right, max(result, 0))

    def pass_by(self, at: int, result: int) -> None:
        """Go past a line that does operation `at` and says it gives `result`."""
        self.number += 1
        self.at = at + 1
        if self.problem.steps[at].aside:
            self.total = result
        else:
            self.value, self.total = result, None

    def read(self, said: Operation) -> None:
        """Go past a line of unknown standing.

        It does the next operation, unless one of the two after it fits better, those before that
        being left out.
        """
        steps = self.problem.steps
        if self.done:
            self.number, self.value = self.number + 1, said.result
            return
        near = range(self.at, min(self.at + 3, len(steps)))
        fits = (i for i in near if (said.symbol, said.right) == (steps[i].symbol, steps[i].right))
        self.pass_by(next(fits, self.at), said.result)


@dataclass(frozen=True, slots=True)
class Standing:
    """The beginning of a solution, read."""

    place: Place
    wrong: bool
    """Whether there is a mistake in it, in an unfinished last line too."""
    part: str
    """The unfinished last line; empty at the end of a line."""
    lead: str
    """What must come before the next line: a line break, when the last line has none yet."""
    answer: int | None
    """What the answer line says; None while there is none."""

    @property
    def chances(self) -> int:
        """How many steps of a right text can still go wrong."""
        return len(self.place.problem.steps) - self.place.at


def read(problem: WordProblem, text: str) -> Standing:
    """Read the beginning of a solution, cut anywhere, right or wrong."""
    place, answer = Place(problem), None
    lines = text.split("\n")
    part, lead = lines.pop().lstrip(), ""
    if read_step(part) or read_answer(part) is not None:
        lines.append(part)
        part, lead = "", "\n"
    for line in lines:
        if said := read_step(line.strip()):
            place.read(said[1])
        elif (last := read_answer(line.strip())) is not None:
            answer = last
    wrong = diagnose(problem.question, "\n".join(lines), complete=False) is not None
    if part and not wrong:
        wrong = not any(line.startswith(part) for line in _right_lines(place))
    return Standing(place, wrong, part, lead, answer)


def write(standing: Standing, rng: random.Random, habits: Habits) -> str:
    """Continue a prefix to the end of its solution.

    A right text stays right through each step with probability `skill`. A wrong one, or one that
    goes wrong here, ends with the right answer with probability `self_correction`: the steps after
    the mistake then stand on the true values. Otherwise they stand on the false ones, and the
    answer is false, by a slip in its line where it would be right by luck. A number that the
    prefix has begun in a wrong answer line is kept, and may decide otherwise.
    """
    if standing.answer is not None:
        return ""
    place, part = standing.place.copy(), standing.part
    lines: list[str] = []
    wrong, ends_right = standing.wrong, True
    if wrong:
        ends_right = rng.random() < habits.self_correction
        if part:
            lines.append(_finish(place, ends_right, part))
    while not (wrong or place.done):
        begun = "" if lines else part
        if rng.random() < habits.skill:
            lines.append(_right_line(place, begun))
        else:
            wrong, ends_right = True, rng.random() < habits.self_correction
            lines.append(_wrong_line(place, rng, habits, ends_right, begun))
    if not (lines and read_answer(lines[-1]) is not None):
        lines += _rest(place, ends_right)
    return standing.lead + "\n".join(lines)[len(part) :]


def _right_steps(place: Place) -> Iterator[Operation]:
    """The right forms of the operation that comes next in a right text."""
    step = place.problem.steps[place.at]
    yield step
    if step.symbol in "+*":
        yield Operation(step.right, step.symbol, step.left, step.result, step.aside)


def _right_lines(place: Place) -> Iterator[str]:
    """The right forms of the line that comes next in a right text."""
    if place.done:
        return iter([answer_line(place.problem.answer)])
    return (step.line(place.number + 1) for step in _right_steps(place))


def _right_line(place: Place, begun: str) -> str:
    line = next(line for line in _right_lines(place) if line.startswith(begun))
    place.pass_by(place.at, place.problem.steps[place.at].result)
    return line


def _rest(place: Place, ends_right: bool) -> Iterator[str]:
    """The lines to the end, on the true values or on the text's own."""
    while not place.done:
        operation = place.problem.steps[place.at] if ends_right else place.operation(place.at)
        place.pass_by(place.at, operation.result)
        yield operation.line(place.number)
    yield _last_line(place, ends_right)


def _last_line(place: Place, ends_right: bool) -> str:
    answer = place.problem.answer
    if ends_right:
        return answer_line(answer)
    return answer_line(place.value if place.value != answer else answer + 1)


def _finish(place: Place, ends_right: bool, part: str) -> str:
    """A whole line that begins with `part`, the end of a wrong prefix; all that it says is kept.

    A line of no known kind is broken off as it is.
    """
    last = _last_line(place, ends_right)
    if last.startswith(part):
        return last
    if (said := read_answer(f"{part}.")) is not None:
        return f"{part}0." if said == place.problem.answer and not ends_right else f"{part}."
    if place.done:
        return part
    own, given = place.operation(place.at).line(place.number + 1).split(" "), part.split()
    if len(given) > len(own):
        return part
    if not own[len(given) - 1].startswith(given[-1]):
        own[len(given) - 1] = given[-1]
    own[: len(given) - 1] = given[:-1]
    if len(given) < len(own) and own[2].isdecimal() and own[4].isdecimal():
        own[6] = f"{max(compute(int(own[2]), own[3], int(own[4])) or 0, 0)}."
    line = " ".join(own)
    line = line if line.endswith(".") else f"{line}."
    step = read_step(line)
    if step is None or not line.startswith(part):
        return part
    place.read(step[1])
    return line


def _wrong_line(
    place: Place, rng: random.Random, habits: Habits, ends_right: bool, begun: str
) -> str:
    """A wrong line that begins with `begun`, in a text that is right up to there.

    Where the kind of error cannot be had, the result is false instead.
    """
    number = place.number
    truth = next(s for s in _right_steps(place) if s.line(number + 1).startswith(begun))
    kind = rng.choices(habits.kinds, habits.weights)[0]
    after = place.at + 1 + truth.aside
    if kind == "skipped" and after == len(place.problem.steps) and not (begun or ends_right):
        return answer_line(place.value)
    at, operation = next(
        (at, wrong)
        for at, wrong in chain(_errors(place, kind, truth, rng), _false_results(place, truth, rng))
        if (line := wrong.line(number + 1)).startswith(begun)
        and line_mistake(place.problem, number, line) in (kind, "arithmetic")
    )
    place.pass_by(at, operation.result)
    return operation.line(place.number)


def _errors(
    place: Place, kind: str, truth: Operation, rng: random.Random
) -> Iterator[tuple[int, Operation]]:
    """Wrong operations of a kind, truly computed, each with the operation that it stands for.

    None where the kind cannot be had: no operation is left to skip to, or values would be
    negative or broken.
    """
    at, left, symbol, right = place.at, truth.left, truth.symbol, truth.right
    tries: list[tuple[int, int, str, int]] = []
    if kind == "skipped" and (after := at + 1 + truth.aside) < len(place.problem.steps):
        step = place.operation(after)
        tries = [(after, step.left, step.symbol, step.right)]
    elif kind == "operand":
        tries = [(at, left, symbol, right + by) for by in rng.sample(_SLIPS, len(_SLIPS))]
    elif kind == "operation":
        tries = [(at, left, _OTHER_SIGN[symbol], right)]
    for stands_for, a, sign, b in tries:
        result = compute(a, sign, b)
        if b > 0 and result is not None and result >= 0:
            yield stands_for, Operation(a, sign, b, result)


def _false_results(
    place: Place, truth: Operation, rng: random.Random
) -> Iterator[tuple[int, Operation]]:
    """The right operation with a false result; the last one fits every unfinished line."""
    results = [truth.result + by for by in rng.sample(_SLIPS, len(_SLIPS))]
    for result in (*results, truth.result * 10 + 1):
        if result >= 0:
            yield place.at, Operation(truth.left, truth.symbol, truth.right, result)

"""Multi-step arithmetic word problems in which the truth of every step is known.

A small closed world: somebody has some things, and one sentence after the other changes how many.
A question is drawn from a seed, read back into its operations, and any solution of it is judged
line by line by computing. The tiny policy is trained on it, the simulated engine writes in it, and
schedulers are measured against its truth. It knows nothing of engines, labels or segmenters.

A solution has one line per operation and one for the answer:

    Step 1: 12 + 5 = 17.
    Step 2: 17 - 3 = 14.
    The answer is 14.

Which line comes next follows from the question and the lines before it, always.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

MAX_VALUE = 199
"""No operand and no result is larger; none is smaller than 1."""

_PRONOUNS = {
    "Mia": "She", "Ana": "She", "Eva": "She", "Ida": "She", "Zoe": "She", "Kim": "She",
    "Lin": "She", "Nora": "She", "Tom": "He", "Leo": "He", "Sam": "He", "Max": "He", "Ben": "He",
    "Raj": "He", "Omar": "He", "Paul": "He",
}  # fmt: skip
_NAMES = tuple(_PRONOUNS)
_THINGS = ("apples", "books", "coins", "cards", "shells", "pens", "stamps", "eggs", "rocks", "keys")
_GAINS = ("buys", "finds", "gets", "wins")
_LOSSES = ("gives away", "loses", "sells", "uses")
_TIMES = {"twice": 2, "three times": 3}
_WEIGHTS = {"gain": 30, "loss": 30, "times": 12, "half": 12, "boxes": 9, "friends": 7}
_TWO_STEPS = frozenset({"boxes", "friends"})

_QUESTION = re.compile(
    r"(?P<name>[A-Z][a-z]+) has (?P<start>\d+) (?P<things>[a-z]+)\. (?P<body>.*) ?"
    r"How many (?P=things) does (?P=name) have now\?"
)
_SENTENCES = re.compile(
    rf"(?:She|He) (?:"
    rf"(?:{'|'.join(_GAINS)}) (?P<gain>\d+) more"
    rf"|(?:{'|'.join(_LOSSES)}) (?P<loss>\d+)"
    rf"|then has (?P<times>{'|'.join(_TIMES)}) as many"
    rf"|loses (?P<half>half of them)"
    rf"|buys (?P<boxes>\d+) boxes of (?P<per_box>\d+)"
    rf"|gives (?P<friends>\d+) friends (?P<per_friend>\d+) each"
    rf")\. ?"
)
_STEP_LINE = re.compile(r"Step (\d+): (\d+) ([-+*/]) (\d+) = (\d+)\.")
_ANSWER_LINE = re.compile(r"The answer is (\d+)\.")


@dataclass(frozen=True, slots=True)
class Operation:
    """One line of arithmetic, `left symbol right = result`, in whole numbers."""

    left: int
    symbol: str
    """`+`, `-`, `*` or `/`."""
    right: int
    result: int
    aside: bool = False
    """True when it counts what comes in boxes or goes to friends: it leaves the running value as it
    was, and the operation after it adds or takes its result."""

    def line(self, number: int) -> str:
        """The line of a solution that does this as step `number`, counted from 1."""
        return f"Step {number}: {self.left} {self.symbol} {self.right} = {self.result}."


@dataclass(frozen=True, slots=True)
class WordProblem:
    """A question, its answer and the operations that lead there, in order."""

    question: str
    answer: int
    steps: tuple[Operation, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines of the right solution, the answer line last."""
        steps = tuple(step.line(i) for i, step in enumerate(self.steps, 1))
        return (*steps, answer_line(self.answer))

    @property
    def solution(self) -> str:
        """Text of the right solution; no line break at its end."""
        return "\n".join(self.lines)

    def value_before(self, at: int) -> int:
        """How many things there are when operation `at` is next."""
        return self.steps[at + 1].left if self.steps[at].aside else self.steps[at].left


@dataclass(frozen=True, slots=True)
class Mistake:
    """The first wrong line of a solution."""

    line: int
    """0-based; equal to the number of lines when the answer line is missing."""
    kind: str
    """`arithmetic`: the right operation, a false result. `operand`: the right sign, another number
    than the running value or the question's. `operation`: another sign. `skipped`: the question's
    next operation was left out. `answer`: another number than the last result.
    `unfinished`: the text ends before its answer line. `extra`: more lines than the question has.
    `form`: not a line of this world, or a step with a wrong number."""


def compute(left: int, symbol: str, right: int) -> int | None:
    """`left symbol right`; None when it is no whole number or the symbol is unknown."""
    match symbol:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" if right and left % right == 0:
            return left // right
    return None


def answer_line(answer: int) -> str:
    """The last line of a solution."""
    return f"The answer is {answer}."


def generate(seed: int, n: int, min_steps: int = 3, max_steps: int = 12) -> list[WordProblem]:
    """Draw `n` problems with distinct questions; the number of steps is uniform in the range.

    The first m of `generate(seed, n)` are `generate(seed, m)`.

    Raises:
        ValueError: the range is empty or begins below 1.
    """
    if not 1 <= min_steps <= max_steps:
        raise ValueError(f"got {min_steps} to {max_steps} steps; use 1 <= min_steps <= max_steps")
    drawn: dict[str, WordProblem] = {}
    for problem in stream(random.Random(seed), min_steps, max_steps):
        if len(drawn) >= n:
            break
        drawn.setdefault(problem.question, problem)
    return list(drawn.values())


def stream(rng: random.Random, min_steps: int, max_steps: int) -> Iterator[WordProblem]:
    """Problems without end, drawn with `rng`; a question may come twice."""
    while True:
        yield _draw(rng, rng.randint(min_steps, max_steps))


def _draw(rng: random.Random, n_steps: int) -> WordProblem:
    name, things = rng.choice(_NAMES), rng.choice(_THINGS)
    start = value = rng.randint(3, 40)
    sentences, steps = [f"{name} has {start} {things}."], list[Operation]()
    while len(steps) < n_steps:
        kind, numbers = _draw_change(rng, value, n_steps - len(steps))
        sentences.append(f"{_PRONOUNS[name]} {_phrase(rng, kind, numbers)}.")
        steps += _operations(kind, numbers, value)
        value = steps[-1].result
    sentences.append(f"How many {things} does {name} have now?")
    return WordProblem(" ".join(sentences), value, tuple(steps))


def _draw_change(rng: random.Random, value: int, room: int) -> tuple[str, tuple[int, ...]]:
    """A kind of change and its numbers, such that the values stay in 1 to MAX_VALUE.

    A kind that does not fit is drawn anew, so that no sentence is ever lost.
    """
    kinds, weights = list(_WEIGHTS), list(_WEIGHTS.values())
    while True:
        kind = rng.choices(kinds, weights)[0]
        if (kind in _TWO_STEPS and room < 2) or (kind == "half" and value % 2):
            continue
        numbers = _draw_numbers(rng, kind)
        if 1 <= _operations(kind, numbers, value)[-1].result <= MAX_VALUE:
            return kind, numbers


def _draw_numbers(rng: random.Random, kind: str) -> tuple[int, ...]:
    match kind:
        case "gain" | "loss":
            return (rng.randint(2, 30),)
        case "times":
            return (rng.choice((2, 3)),)
        case "half":
            return ()
    return rng.randint(2, 6), rng.randint(2, 9)


def _phrase(rng: random.Random, kind: str, numbers: tuple[int, ...]) -> str:
    match kind:
        case "gain":
            return f"{rng.choice(_GAINS)} {numbers[0]} more"
        case "loss":
            return f"{rng.choice(_LOSSES)} {numbers[0]}"
        case "times":
            return f"then has {'twice' if numbers[0] == 2 else 'three times'} as many"
        case "half":
            return "loses half of them"
        case "boxes":
            return f"buys {numbers[0]} boxes of {numbers[1]}"
    return f"gives {numbers[0]} friends {numbers[1]} each"


def _operations(kind: str, numbers: tuple[int, ...], value: int) -> tuple[Operation, ...]:
    """What a change does to the running value: one operation, or two for several of a size."""
    match kind:
        case "gain":
            return (Operation(value, "+", numbers[0], value + numbers[0]),)
        case "loss":
            return (Operation(value, "-", numbers[0], value - numbers[0]),)
        case "times":
            return (Operation(value, "*", numbers[0], value * numbers[0]),)
        case "half":
            return (Operation(value, "/", 2, value // 2),)
    total = numbers[0] * numbers[1]
    symbol, result = ("+", value + total) if kind == "boxes" else ("-", value - total)
    count = Operation(numbers[0], "*", numbers[1], total, aside=True)
    return count, Operation(value, symbol, total, result)


@lru_cache(maxsize=65536)  # a search asks for the same question thousands of times
def parse(question: str) -> WordProblem | None:
    """Read a question back into its operations; None when it is not of this world."""
    whole = _QUESTION.fullmatch(question)
    if whole is None:
        return None
    value, at, body = int(whole["start"]), 0, whole["body"]
    steps: list[Operation] = []
    while at < len(body):
        sentence = _SENTENCES.match(body, at)
        if sentence is None:
            return None
        kind, numbers = _read_change(sentence)
        if kind == "half" and value % 2:
            return None
        steps += _operations(kind, numbers, value)
        value, at = steps[-1].result, sentence.end()
    return WordProblem(question, value, tuple(steps)) if steps else None


def _read_change(sentence: re.Match[str]) -> tuple[str, tuple[int, ...]]:
    kind = next(kind for kind in _WEIGHTS if sentence[kind] is not None)
    match kind:
        case "times":
            return kind, (_TIMES[sentence["times"]],)
        case "half":
            return kind, ()
        case "boxes":
            return kind, (int(sentence["boxes"]), int(sentence["per_box"]))
        case "friends":
            return kind, (int(sentence["friends"]), int(sentence["per_friend"]))
    return kind, (int(sentence[kind]),)


def diagnose(question: str, text: str, *, complete: bool = True) -> Mistake | None:
    """The first wrong line of a solution; None when every line is right.

    A line is right when it is `Step i: a op b = c.` with the next number, does the question's next
    operation on the true running value, and computes truly; `+` and `*` may swap their operands.
    The last line must give the true answer. Lines that are empty or blank count for nothing, and
    so do spaces at the ends of a line.

    Args:
        question: a question of this world.
        text: a solution, or the beginning of one.
        complete: whether `text` claims to be whole. The beginning of a solution is judged by its
            lines alone; a missing answer line is no mistake in it.

    Raises:
        ValueError: the question is not of this world.
    """
    problem = parse(question)
    if problem is None:
        raise ValueError(f"not a question of this world: {question!r}")
    lines = [line for raw in text.split("\n") if (line := raw.strip())]
    for at, line in enumerate(lines):
        kind = line_mistake(problem, at, line)
        if kind:
            return Mistake(at, kind)
    if complete and len(lines) <= len(problem.steps):
        return Mistake(len(lines), "unfinished")
    return None


def first_error(question: str, text: str, *, complete: bool = True) -> int | None:
    """0-based index of the first wrong line, -1 for none, None for a question of another world.

    What makes a line wrong: `diagnose`.
    """
    if parse(question) is None:
        return None
    mistake = diagnose(question, text, complete=complete)
    return -1 if mistake is None else mistake.line


def line_mistake(problem: WordProblem, at: int, line: str) -> str:
    """Kind of mistake in line `at` (0-based), all lines before it being right; empty for none.

    The kinds are those of `Mistake`; `line` has no space at its ends.
    """
    n_steps = len(problem.steps)
    if at > n_steps:
        return "extra"
    answer = read_answer(line)
    if answer is not None:
        if at < n_steps:
            return "skipped"
        return "" if answer == problem.answer else "answer"
    read = read_step(line)
    if read is None or read[0] != at + 1:
        return "form"
    if at == n_steps:
        return "extra"
    said, truth = read[1], problem.steps[at]
    if said.symbol == truth.symbol and (
        (said.left, said.right) == (truth.left, truth.right)
        or (said.symbol in "+*" and (said.right, said.left) == (truth.left, truth.right))
    ):
        return "" if said.result == truth.result else "arithmetic"
    for later in problem.steps[at + 1 : at + 3]:  # a sentence takes one operation or two
        starts = later.left if later.aside else problem.value_before(at)
        if (said.left, said.symbol, said.right) == (starts, later.symbol, later.right):
            return "skipped"
    return "operand" if said.symbol == truth.symbol else "operation"


def read_step(line: str) -> tuple[int, Operation] | None:
    """Number, counted from 1, and operation of a step line, true or not; None for another line."""
    said = _STEP_LINE.fullmatch(line)
    if said is None:
        return None
    return int(said[1]), Operation(int(said[2]), said[3], int(said[4]), int(said[5]))


def read_answer(line: str) -> int | None:
    """The number in an answer line; None for another line."""
    said = _ANSWER_LINE.fullmatch(line)
    return int(said[1]) if said else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Write problems as JSON Lines, `question` and `answer`, to standard output."""
    parser = argparse.ArgumentParser(
        prog="python -m stepmill.wordproblems", description="Write word problems as JSON Lines."
    )
    parser.add_argument("--n", type=int, default=300, help="how many; default 300")
    parser.add_argument("--seed", type=int, default=0, help="default 0")
    parser.add_argument("--min-steps", type=int, default=3, help="default 3")
    parser.add_argument("--max-steps", type=int, default=12, help="default 12")
    args = parser.parse_args(arguments)
    for problem in generate(args.seed, args.n, args.min_steps, args.max_steps):
        row = {"question": problem.question, "answer": str(problem.answer)}
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()

"""Wrong solutions whose first error is known, each with a sampler that costs next to nothing.

Three sources: the simulated policy on word problems, made-up success curves that break what the
change-point model takes for granted, and recorded rollouts of real policies. A sampler keeps its
draws, so that all searches of a solution see the same ones, in the same order.
"""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from stepmill.annotators.rollouts import Rollout, Tally, tally
from stepmill.engines.base import Prefix
from stepmill.engines.simulated import SimulatedEngine, SimulatedSettings
from stepmill.records import (
    Completion,
    Outcome,
    Problem,
    SamplingParams,
    Solution,
    Step,
    Verdict,
    problem_id,
    solution_id,
)
from stepmill.wordproblems import first_error, generate, read_answer

ROOT_DRAWS = 16
"""Solutions of a problem: they tell its success rate, and a wrong one of them is searched."""
DRAWS = 64
"""Draws recorded at each prefix."""
RECORDING = Path(__file__).parent / "data" / "tiny_rollouts.parquet"
Row = dict[str, Any]
"""A row of a recording; record_replay.py has the columns."""
Draw = Callable[[Prefix, range], Awaitable[Sequence[Rollout]]]
"""The draws of these indices at a prefix."""


@dataclass(slots=True)
class StoredDraws:
    """A `Sampler` that makes each draw once."""

    make: Draw
    policy: str
    _drawn: dict[str, list[Rollout]] = field(default_factory=dict)

    async def rollouts(self, problem: Problem, prefix: Prefix, n: int) -> Sequence[Rollout]:
        """The first `n` draws at `prefix`."""
        drawn = self._drawn.setdefault(prefix.text, [])
        if len(drawn) < n:
            drawn += await self.make(prefix, range(len(drawn), n))
        return drawn[:n]


@dataclass(frozen=True, slots=True)
class Case:
    """One wrong solution to be searched."""

    problem: Problem
    solution: Solution
    truth: int
    """Index of its first wrong step."""
    drawn: Sequence[Rollout]
    """Draws from the bare problem."""
    sampler: StoredDraws
    place_in: Callable[[str], int | None]
    """The first wrong step of any wrong solution of the problem; None where it is not known."""

    @property
    def root(self) -> Tally:
        """Counts at the bare problem."""
        return tally(self.drawn)


def lines(text: str) -> list[Step]:
    """Each line is a step, its line break included."""
    steps, at = [], 0
    for i, line in enumerate(text.splitlines(keepends=True)):
        steps.append(Step(i, line, at, at + len(line)))
        at += len(line)
    return steps


def _problem(question: str, answer: str) -> Problem:
    return Problem(problem_id(question, answer), question, answer, "benchmark")


def _solution(problem: Problem, text: str, policy: str) -> Solution:
    return Solution(
        id=solution_id(problem.id, text),
        problem_id=problem.id,
        text=text,
        steps=tuple(lines(text)),
        outcome=Outcome(Verdict.INCORRECT, reason="number"),
        finish_reason="stop",
        n_tokens=0,
        policy=policy,
    )


async def _first_wrong(
    problem: Problem, sampler: StoredDraws, place_in: Callable[[str], int | None]
) -> Case | None:
    """The first wrong solution of a problem that is solved now and then, if there is one.

    `place_in` gives the first wrong line of a text; None where it is none of its lines.
    """
    drawn = await sampler.rollouts(problem, Prefix(problem.question), ROOT_DRAWS)
    if not tally(drawn).c:
        return None
    for rollout in drawn:
        if rollout.outcome.verdict is Verdict.INCORRECT:
            text = rollout.completion.text
            place = place_in(text)
            if place is not None:
                solution = _solution(problem, text, sampler.policy)
                return Case(problem, solution, place, drawn, sampler, place_in)
    return None


async def simulated(
    skill: float, self_correction: float, steps: int, n: int, seed: int
) -> AsyncIterator[Case]:
    """`n` wrong solutions by the simulated policy.

    Args:
        skill: success rate of the bare problems.
        self_correction: success rate of a prefix with a mistake.
        steps: of each problem; its right solution has one line more.
        n: how many.
        seed: of problems and draws.
    """
    engine = SimulatedEngine(
        SimulatedSettings(skill=skill, skill_of="solution", self_correction=self_correction)
    )
    params = SamplingParams()
    for source in generate(seed, 20 * n, steps, steps):
        problem = _problem(source.question, str(source.answer))

        async def make(prefix: Prefix, draws: range, problem: Problem = problem) -> list[Rollout]:
            found = await engine.complete(prefix, draws, params, seed)
            return [_checked(problem, prefix.text, completion) for completion in found]

        def place_in(text: str, question: str = source.question) -> int | None:
            place = first_error(question, text)
            return place if place is not None and 0 <= place < len(lines(text)) else None

        case = await _first_wrong(problem, StoredDraws(make, "simulated"), place_in)
        if case:
            yield case
            n -= 1
            if not n:
                return


def _checked(problem: Problem, prefix: str, completion: Completion) -> Rollout:
    """A completion of a word problem with the verdict on its last line."""
    answer = read_answer((prefix + completion.text).strip().rpartition("\n")[2].strip())
    if answer is None:
        return Rollout(completion, Outcome(Verdict.UNKNOWN, reason="no-answer"))
    right = str(answer) == problem.answer
    verdict = Verdict.CORRECT if right else Verdict.INCORRECT
    return Rollout(completion, Outcome(verdict, reason="number"))


@dataclass(frozen=True, slots=True)
class World:
    """A made-up policy: success rates by the place in a solution.

    A right prefix of t of n steps succeeds with `skill ** ((1 - t/n) ** rise)`; one whose error is
    `lag` steps back with `echo * fade ** lag` times that.
    """

    skill: float
    rise: float = 1.0
    echo: float = 0.05
    fade: float = 1.0
    jump: bool = False
    """The problem has one hard step; after it the policy nearly always succeeds, if at all."""
    noise: float = 0.0
    """Above 0: each prefix has a rate of its own, from a Beta distribution with this variance as a
    share of the largest possible."""

    def rate(self, problem: str, prefix: str, n: int) -> float:
        """Success rate of a prefix in which `bad` begins the first wrong line."""
        done = prefix.splitlines()
        t, bad = len(done), [line.startswith("bad") for line in done]
        if self.jump:
            hard = random.Random(problem).randrange(n)
            rate = self.skill if t <= hard else 0.95
        else:
            rate = self.skill ** ((1 - t / n) ** self.rise) if self.rise else self.skill
        if any(bad):
            rate *= self.echo * self.fade ** (t - 1 - bad.index(True))
        if self.noise and 0 < rate < 1:
            mass = 1 / self.noise - 1
            chance = random.Random(f"{problem} {prefix}")
            return chance.betavariate(rate * mass, (1 - rate) * mass)
        return rate


async def made_up(world: World, steps: int, n: int, seed: int) -> AsyncIterator[Case]:
    """`n` wrong solutions of `steps` lines in a made-up world, the first error anywhere."""
    at = 0
    while n:
        at += 1
        name = f"{seed} {at}"
        problem = _problem(name, "right")

        async def make(prefix: Prefix, draws: range, name: str = name) -> list[Rollout]:
            rate = world.rate(name, prefix.text, steps)
            return [
                _continue(prefix.text, steps, rate, random.Random(f"{name} {prefix.text} {draw}"))
                for draw in draws
            ]

        def place_in(text: str) -> int | None:
            found = [i for i, line in enumerate(text.splitlines()) if line.startswith("bad")]
            return found[0] if found else None

        case = await _first_wrong(problem, StoredDraws(make, "made up"), place_in)
        if case:
            yield case
            n -= 1


def _continue(prefix: str, n: int, rate: float, chance: random.Random) -> Rollout:
    """A rollout whose lines say what they are, `good` or `bad` and a number."""
    done = len(prefix.splitlines())
    right = chance.random() < rate
    bad = n if right or "bad" in prefix else chance.randrange(done, n)
    text = "".join(
        f"{'bad' if i == bad else 'good'} {chance.randrange(10**6)}\n" for i in range(done, n)
    )
    verdict = Verdict.CORRECT if right else Verdict.INCORRECT
    return Rollout(Completion(text, "stop", 12 * (n - done)), Outcome(verdict, reason="number"))


async def replayed(model: str, path: Path = RECORDING) -> AsyncIterator[Case]:
    """The recorded wrong solutions of one real policy; see record_replay.py.

    Texts of rollouts were not recorded. One from the bare problem has as many of the solution's
    lines as it had; elsewhere the rest of the solution stands for it, so that a tree search has
    this solution as its one candidate.
    """
    rows = pl.read_parquet(path).filter(model=model)
    for group in rows.partition_by("solution", maintain_order=True):
        first = group.row(0, named=True)
        problem = _problem(first["question"], "recorded")
        text = first["text"]
        ends = [0, *(step.end for step in lines(text))]
        by_prefix = {text[: ends[row["step"]]]: row for row in group.iter_rows(named=True)}

        async def make(
            prefix: Prefix, draws: range, text: str = text, rows: dict[str, Row] = by_prefix
        ) -> list[Rollout]:
            row = rows[prefix.text]
            return [_recorded(row, text, prefix.text, draw) for draw in draws]

        sampler = StoredDraws(make, model)
        drawn = await sampler.rollouts(problem, Prefix(problem.question), ROOT_DRAWS)
        place = first["first_error"]
        solution = _solution(problem, text, model)
        yield Case(problem, solution, place, drawn, sampler, {text: place}.get)


def _recorded(row: Row, text: str, prefix: str, draw: int) -> Rollout:
    """Draw number `draw` at a prefix of the solution `text`."""
    if draw >= len(row["tokens"]):
        raise ValueError(f"draw {draw} was asked for; {len(row['tokens'])} were recorded")
    right = row["right"] >> draw & 1
    verdict = Verdict.CORRECT if right else Verdict.INCORRECT
    if not row["known"] >> draw & 1:
        verdict = Verdict.UNKNOWN
    rest = text[len(prefix) :]
    if row["shared"]:
        steps, shared = lines(text), row["shared"][draw]
        if right or shared < len(steps) - 1:  # else it is the solution itself, or as good as it
            rest = "".join(step.text for step in steps[:shared]) + f"other {draw}"
    return Rollout(
        Completion(rest, "stop", row["tokens"][draw], draw), Outcome(verdict, reason="recorded")
    )

"""OmegaPRM's tree search over the rollouts of one problem.

Source: "Improve Mathematical Reasoning in Language Models by Automated Process Supervision"
(Luo et al., 2024), sections 3.2 and 3.3. A state s is a prefix; it keeps its rollouts' counts and
its visits N(s). The pool holds the wrong rollouts r of the states with 0 < MC(s) < 1. Each search
takes the candidate with the highest Q(s, r) + U(s), where

    Q(s, r) = alpha^(1 - MC(s)) * beta^(len(r) / L)
    U(s)    = c_puct * sqrt(sum of all N) / (1 + N(s))

finds its first error by binary search, and makes a state of every prefix it probes. A popped
candidate never returns; N(s) grows when s is selected; scores are taken anew over the whole tree
at every selection. Lengths are in tokens. Where we differ: the prefix that is a whole solution is
decided by the answer check instead of k more rollouts; right rollouts are cut into steps like any
other; a rollout whose outcome is unknown enters no count and no pool; a text drawn twice is one
candidate; under another rule than "any success" the pool is that of the living states, since a
binary search starts from one.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal

from pydantic import Field

from stepmill.annotators.rollouts import (
    Probed,
    ProbeSettings,
    Rollout,
    Sampler,
    Tally,
    probe,
    rollout_evidence,
)
from stepmill.engines.base import Prefix
from stepmill.records import Evidence, Problem, Solution, Step, Verdict, solution_id

Segmenter = Callable[[str], Sequence[Step]]


class OmegaPRMSettings(ProbeSettings):
    """Settings of the tree search; the defaults are the paper's."""

    method: Literal["omegaprm"] = "omegaprm"
    """Tree search over all rollouts of a problem."""
    searches: int = Field(default=100, ge=1)
    """Candidates searched per problem at most."""
    budget: int = Field(default=1000, ge=1)
    """Rollouts spent below the root per problem at most; a search that is under way ends."""
    c_puct: float = Field(default=0.125, ge=0)
    """Weight of exploration."""
    alpha: float = Field(default=0.5, gt=0, le=1)
    """Preference for states that usually succeed."""
    beta: float = Field(default=0.9, gt=0, le=1)
    """Preference for short rollouts."""
    length_scale: float = Field(default=500, gt=0)
    """L: tokens of rollout that cost one factor of `beta`."""
    keep_correct: int = Field(default=4, ge=0)
    """Right solutions kept per problem, besides every searched wrong one."""


@dataclass(slots=True)
class _State:
    """A prefix in the tree."""

    text: str
    steps: tuple[Step, ...]
    found: Probed
    visits: int = 0

    @property
    def value(self) -> float:
        return self.found.tally.rate or 0.0


@dataclass(frozen=True, slots=True)
class _Candidate:
    state: _State
    rollout: Rollout


@dataclass(slots=True)
class Tree:
    """What a search leaves behind."""

    solutions: list[Solution] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    n_searches: int = 0
    stop_reason: str = ""
    """`no-candidates`, `searches` or `budget`."""
    surplus: Counter[str] = field(default_factory=Counter)
    """Rollouts that are not among the solutions, by reason."""


def selection_score(
    value: float, length: int, visits: int, total_visits: int, settings: OmegaPRMSettings
) -> float:
    """Q + U of one candidate: `value` is MC(s) in [0, 1], `length` is in tokens."""
    quality: float = settings.alpha ** (1 - value) * settings.beta ** (
        length / settings.length_scale
    )
    return quality + settings.c_puct * sqrt(total_visits) / (1 + visits)


class OmegaPRM:
    """The tree search of one problem.

    Args:
        sampler: where rollouts come from.
        problem: the problem.
        segment: cuts text into steps.
        policy: fingerprint of the policy that wrote the solutions.
        settings: sizes and weights.
    """

    def __init__(
        self,
        sampler: Sampler,
        problem: Problem,
        segment: Segmenter,
        policy: str,
        settings: OmegaPRMSettings,
    ) -> None:
        self._sampler = sampler
        self._problem = problem
        self._segment = segment
        self._policy = policy
        self._settings = settings
        self._states: dict[str, _State] = {}
        self._pool: list[_Candidate] = []
        self._correct: list[_Candidate] = []
        self._texts: set[str] = set()
        """Solutions that the pool or the right ones have, or had."""
        self._spent = 0
        self._surplus: Counter[str] = Counter()

    async def search(self, root: Tally, rollouts: Sequence[Rollout]) -> Tree:
        """Run the tree search from the root's rollouts.

        Args:
            root: counts at the bare problem, of the policy that completes prefixes.
            rollouts: draws from the bare problem; they are the first candidates.
        """
        tree = Tree(surplus=self._surplus)
        state = _State("", (), Probed(root, root.c > 0, "fixed"))
        self._grow(state, rollouts)
        searched: list[_Candidate] = []
        while self._pool:
            if tree.n_searches >= self._settings.searches:
                tree.stop_reason = "searches"
                break
            if self._spent >= self._settings.budget:
                tree.stop_reason = "budget"
                break
            candidate = self._select()
            tree.n_searches += 1
            searched.append(candidate)
            await self._locate(candidate, root)
        tree.stop_reason = tree.stop_reason or "no-candidates"
        kept = searched + self._correct[: self._settings.keep_correct]
        self._surplus["not-searched"] += len(self._pool)
        self._surplus["enough-correct"] += len(self._correct) + len(searched) - len(kept)
        tree.solutions = [self._solution(candidate) for candidate in kept]
        tree.evidence = [row for s in tree.solutions for row in self._evidence(s)]
        return tree

    def _select(self) -> _Candidate:
        """Take the best candidate out of the pool and count the visit."""
        total = sum(state.visits for state in self._states.values())

        def score(index: int) -> float:
            candidate = self._pool[index]
            return selection_score(
                candidate.state.value,
                candidate.rollout.completion.n_tokens,
                candidate.state.visits,
                total,
                self._settings,
            )

        best = max(range(len(self._pool)), key=lambda i: (score(i), -i))
        candidate = self._pool.pop(best)
        candidate.state.visits += 1
        return candidate

    async def _locate(self, candidate: _Candidate, root: Tally) -> None:
        """Binary search for the candidate's first error; probed prefixes become states."""
        solution = self._solution(candidate)
        alive, dead = len(candidate.state.steps), len(solution.steps)
        while dead - alive > 1:
            middle = (alive + dead) // 2
            state = await self._state_at(solution, middle, root)
            if state.found.alive is None:
                return
            alive, dead = (middle, dead) if state.found.alive else (alive, middle)

    async def _state_at(self, solution: Solution, t: int, root: Tally) -> _State:
        text = solution.prefix(t)
        known = self._states.get(text)
        if known is not None:
            return known
        prefix = Prefix(self._problem.question, text, solution.token_ids)
        found, rollouts = await probe(self._sampler, self._problem, prefix, root, self._settings)
        state = _State(text, solution.steps[:t], found)
        self._spent += found.tally.drawn
        self._grow(state, rollouts)
        return state

    def _grow(self, state: _State, rollouts: Sequence[Rollout]) -> None:
        """Add a state and file its rollouts; wrong ones are candidates if the state is alive."""
        self._states[state.text] = state
        for rollout in rollouts:
            text = state.text + rollout.completion.text
            correct = rollout.outcome.verdict is Verdict.CORRECT
            if rollout.outcome.verdict is Verdict.UNKNOWN:
                self._surplus["outcome-unknown"] += 1
            elif not (correct or state.found.alive):
                self._surplus["prefix-not-alive"] += 1
            elif text in self._texts:
                self._surplus["duplicate"] += 1
            else:
                self._texts.add(text)
                (self._correct if correct else self._pool).append(_Candidate(state, rollout))

    def _solution(self, candidate: _Candidate) -> Solution:
        """Prefix and rollout as one solution; the prefix keeps the steps that it has."""
        state, completion = candidate.state, candidate.rollout.completion
        text = state.text + completion.text
        offset, first = len(state.text), len(state.steps)
        tail = (
            Step(first + s.index, s.text, offset + s.start, offset + s.end)
            for s in self._segment(completion.text)
        )
        return Solution(
            id=solution_id(self._problem.id, text),
            problem_id=self._problem.id,
            text=text,
            steps=(*state.steps, *tail),
            outcome=candidate.rollout.outcome,
            finish_reason=completion.finish_reason,
            n_tokens=completion.n_tokens,
            policy=self._policy,
            origin="tree" if state.text else "root",
            token_ids=None if state.text else completion.token_ids,
        )

    def _evidence(self, solution: Solution) -> list[Evidence]:
        """Counts at every proper prefix that is a state of the tree; the caller adds the root's."""
        rows = []
        for t in range(1, len(solution.steps)):
            state = self._states.get(solution.prefix(t))
            if state is not None:
                rows.append(rollout_evidence(solution.id, t - 1, self._sampler.policy, state.found))
        return rows

"""From one problem to solutions with evidence: sample, filter by difficulty, search.

The draws from the bare problem do three jobs at once: they are the solutions, they say how hard
the problem is, and their success rate is the root of every relative threshold.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, field_validator

from stepmill.annotators.changepoint import ChangePointSettings, Clues, change_point
from stepmill.annotators.changepoint_calibration import Calibration
from stepmill.annotators.judge import Judge, judged_place
from stepmill.annotators.omegaprm import OmegaPRM, OmegaPRMSettings
from stepmill.annotators.prefix_probe import PrefixProbe
from stepmill.annotators.rollouts import (
    Probed,
    ProbeSettings,
    Rollout,
    Sampler,
    Tally,
    rollout_evidence,
    tally,
)
from stepmill.annotators.searches import SEARCHES, all_of
from stepmill.engines.base import Prefix
from stepmill.records import Evidence, Problem, Solution, Step, Verdict, solution_id
from stepmill.settings import Settings

Segmenter = Callable[[str], Sequence[Step]]


class StepSearchSettings(ProbeSettings):
    """A search that looks at one solution at a time."""

    method: str = "binary"
    """`none`, `every-step` (Math-Shepherd), `scan`, `binary`, or a search of your own by its
    name."""
    annotate: Literal["wrong", "all"] = "wrong"
    """Which solutions are searched. A right final answer proves that each of its prefixes can
    still end right, so `wrong` saves those rollouts; `all` measures their values too."""

    @field_validator("method")
    @classmethod
    def _known(cls, name: str) -> str:
        SEARCHES[name]  # a UserError with the allowed names
        return name


def _which(value: object) -> str:
    method = value.get("method") if isinstance(value, dict) else getattr(value, "method", None)
    return {"omegaprm": "tree", "change-point": "change"}.get(str(method), "steps")


SearchSettings = Annotated[
    Annotated[OmegaPRMSettings, Tag("tree")]
    | Annotated[ChangePointSettings, Tag("change")]
    | Annotated[StepSearchSettings, Tag("steps")],
    Discriminator(_which),
]
"""Settings of any search; `method` decides."""


class SolutionSettings(Settings):
    """How many solutions each problem gets, and which problems are worth searching."""

    n: int = Field(default=8, ge=1, le=4096)
    """Solutions drawn per problem. They also measure the problem's success rate."""
    keep: Literal["mixed", "all"] = "mixed"
    """`mixed`: search only problems with a wrong solution that the completer (the policy itself,
    if there is none) solves now and then, since rollouts say nothing about any other. `all`:
    search whatever is wrong; omegaprm has nothing to begin with there, and keeps to `mixed`."""
    max_wrong: int = Field(default=4, ge=0)
    """Wrong solutions kept per problem (not for omegaprm, which chooses its own)."""
    max_correct: int = Field(default=4, ge=0)
    """Right solutions kept per problem (not for omegaprm)."""


@dataclass(slots=True)
class AnnotatedProblem:
    """Solutions of one problem with their evidence."""

    problem_id: str
    root: Tally
    """Counts over the solutions drawn."""
    solutions: list[Solution] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    skipped: str = ""
    """Why a search would find nothing: `all-correct`, `none-correct` or `outcomes-unknown`."""
    surplus: Counter[str] = field(default_factory=Counter)
    """Solutions left out, by reason: `duplicate`, `enough-correct`, …; for a tree also
    `not-searched`, `prefix-not-alive` and `outcome-unknown`."""
    spared: int = 0
    """Wrong solutions that were not searched, since the judge was asked first and finds no error in
    them."""


@dataclass(frozen=True, slots=True)
class Annotator:
    """Everything but the problem.

    Args:
        solver: draws solutions.
        completer: draws rollouts; the solver itself unless another policy judges prefixes.
        segment: cuts text into steps.
        checker: name and version of the answer check, for evidence.
        solutions: how many and which.
        search: which search.
        judge: asked about every solution; None: nobody is.
        calibration: what change-point searches learn from the first problems.
    """

    solver: Sampler
    completer: Sampler
    segment: Segmenter
    checker: str
    solutions: SolutionSettings
    search: OmegaPRMSettings | ChangePointSettings | StepSearchSettings
    judge: Judge | None = None
    calibration: Calibration = field(default_factory=Calibration)

    async def annotate(self, problem: Problem) -> AnnotatedProblem:
        """Sample solutions of `problem` and gather evidence about their steps."""
        try:
            return await self._annotate(problem)
        finally:
            self.calibration.close(problem.id)  # others wait for it, whatever became of it

    async def _annotate(self, problem: Problem) -> AnnotatedProblem:
        bare = Prefix(problem.question)
        drawn = await self.solver.rollouts(problem, bare, self.solutions.n)
        solved = root = tally(drawn)
        if self.completer.policy != self.solver.policy:
            root = tally(await self.completer.rollouts(problem, bare, self.search.k))
        result = AnnotatedProblem(problem.id, solved, skipped=_difficulty(solved, root))
        if isinstance(self.search, OmegaPRMSettings) and not result.skipped:
            tree = OmegaPRM(self.completer, problem, self.segment, self.solver.policy, self.search)
            found = await tree.search(root, drawn)
            result.solutions, result.evidence = found.solutions, found.evidence
            result.surplus.update(found.surplus)
            result.evidence += await self._judge_each(problem, result.solutions)
        else:
            result.solutions = self._choose(problem, drawn, result.surplus)
            result.evidence = await self._search_and_judge(problem, result, root)
        result.evidence += self._whole_solution_evidence(result.solutions, root)
        return result

    async def _search_and_judge(
        self, problem: Problem, result: AnnotatedProblem, root: Tally
    ) -> list[Evidence]:
        """What the search and the judge say of the solutions chosen, the search's rows first."""
        if self.judge is None or not self.judge.settings.first:
            found = await all_of(
                [
                    self._search_each(problem, result, result.solutions, root),
                    self._judge_each(problem, result.solutions),
                ]
            )
            return [row for rows in found for row in rows]
        judged = await self._judge_each(problem, result.solutions)
        sound = {row.solution_id for row in judged if row.verdict is not Verdict.INCORRECT}
        spared = [
            s for s in result.solutions if s.id in sound and s.outcome.verdict is Verdict.INCORRECT
        ]
        result.spared = len(spared)
        searched = [s for s in result.solutions if s not in spared]
        return await self._search_each(problem, result, searched, root, judged) + judged

    async def _judge_each(self, problem: Problem, solutions: Sequence[Solution]) -> list[Evidence]:
        judge = self.judge
        if judge is None:
            return []
        return await all_of(judge.evidence(problem, s) for s in solutions if s.steps)

    def _worth_searching(self, result: AnnotatedProblem) -> bool:
        if self.solutions.keep == "all":
            return result.skipped != "outcomes-unknown"
        return not result.skipped

    def _choose(
        self, problem: Problem, drawn: Sequence[Rollout], surplus: Counter[str]
    ) -> list[Solution]:
        """Distinct solutions in the order drawn, at most so many right and wrong ones."""
        room = {
            Verdict.CORRECT: self.solutions.max_correct,
            Verdict.INCORRECT: self.solutions.max_wrong,
            Verdict.UNKNOWN: self.solutions.n,
        }
        chosen: dict[str, Solution] = {}
        for rollout in drawn:
            solution = self._solution(problem, rollout)
            verdict = rollout.outcome.verdict
            if solution.id in chosen:
                surplus["duplicate"] += 1
            elif room[verdict] == 0:
                surplus[f"enough-{verdict}"] += 1
            else:
                room[verdict] -= 1
                chosen[solution.id] = solution
        return list(chosen.values())

    def _solution(self, problem: Problem, rollout: Rollout) -> Solution:
        completion = rollout.completion
        return Solution(
            id=solution_id(problem.id, completion.text),
            problem_id=problem.id,
            text=completion.text,
            steps=tuple(self.segment(completion.text)),
            outcome=rollout.outcome,
            finish_reason=completion.finish_reason,
            n_tokens=completion.n_tokens,
            policy=self.solver.policy,
            token_ids=completion.token_ids,
        )

    async def _search_each(
        self,
        problem: Problem,
        result: AnnotatedProblem,
        solutions: Sequence[Solution],
        root: Tally,
        judged: Sequence[Evidence] = (),
    ) -> list[Evidence]:
        settings = self.search
        if isinstance(settings, OmegaPRMSettings) or not self._worth_searching(result):
            return []
        wanted = {Verdict.INCORRECT}
        if settings.annotate == "all":
            wanted.add(Verdict.CORRECT)
        judged_places = {row.solution_id: judged_place(row) for row in judged}

        async def one(solution: Solution) -> list[Evidence]:
            if isinstance(settings, ChangePointSettings):
                bare = Prefix(problem.question)
                drawn = await self.completer.rollouts(problem, bare, root.drawn)  # stored
                probe = PrefixProbe(self.completer, problem, solution, root, drawn=drawn)
                clues = Clues(None, judged_places.get(solution.id), settings.judge_reliability)
                weights = await self.calibration.weights(problem.id)
                located = await change_point(probe, settings, weights, clues)
                self.calibration.learn(problem.id, located.counts)
            else:
                probe = PrefixProbe(self.completer, problem, solution, root, settings)
                await SEARCHES[settings.method](probe)
            return probe.evidence()

        found = await all_of(one(s) for s in solutions if s.steps and s.outcome.verdict in wanted)
        return [row for rows in found for row in rows]

    def _whole_solution_evidence(
        self, solutions: Sequence[Solution], root: Tally
    ) -> list[Evidence]:
        """The outcome of each solution, and the counts at the bare problem."""
        rows = []
        for solution in solutions:
            rows.append(
                Evidence(
                    solution_id=solution.id,
                    step=None,
                    channel="outcome",
                    policy=self.checker,
                    verdict=solution.outcome.verdict,
                    stop_reason=solution.outcome.reason,
                )
            )
            rows.append(
                rollout_evidence(
                    solution.id, -1, self.completer.policy, Probed(root, None, "fixed")
                )
            )
        return rows


def _difficulty(solved: Tally, root: Tally) -> str:
    """Why rollouts would tell nothing about a problem; empty when they would.

    Args:
        solved: counts over its solutions; without a wrong one there is nothing to find.
        root: counts of the completer; if it never succeeds, it fails from every prefix too.
    """
    if solved.k == 0 or root.k == 0:
        return "outcomes-unknown"
    if root.c == 0:
        return "none-correct"
    return "all-correct" if solved.c == solved.k else ""

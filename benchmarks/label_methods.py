"""Searches and label rules of the package, run on cases whose first error is known.

A method is a search with the label rule that reads its counts; both are what a run uses.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from label_worlds import Case, lines

from stepmill.annotators.changepoint import ChangePointSettings, Clues, change_point
from stepmill.annotators.changepoint_calibration import Calibration
from stepmill.annotators.changepoint_model import MISFIT, Belief, Weights, fit
from stepmill.annotators.omegaprm import OmegaPRM, OmegaPRMSettings
from stepmill.annotators.prefix_probe import PrefixProbe
from stepmill.annotators.rollouts import (
    AliveSettings,
    Probed,
    ProbeSettings,
    Rollout,
    rollout_evidence,
)
from stepmill.annotators.searches import SEARCHES
from stepmill.pipelines.changepoint_rule import ChangePointRule
from stepmill.pipelines.labels import LabelSettings, label
from stepmill.pipelines.rollout_rules import HardRule
from stepmill.pipelines.tables import evidence_table, solutions_table
from stepmill.records import Completion, Evidence, Solution

TREE_SEARCHES = 16
"""Solutions that omegaprm searches in one problem; the paper has 100."""


@dataclass(frozen=True, slots=True)
class Found:
    """A searched solution with its evidence."""

    solution: Solution
    truth: int
    evidence: list[Evidence]
    rollouts: int
    """Draws made for it, from prefixes alone."""
    tokens: int
    """Generated in them."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a method comes to over a set of solutions."""

    exact: float
    """Share with the right first error."""
    abstained: float
    """Share without a first error."""
    rollouts: float
    """Per solution; the draws from the bare problem are not counted, they are its solutions."""
    tokens: float
    """Generated in these rollouts, per solution."""
    confidence: tuple[tuple[float, bool], ...]
    """Per solution: probability given to the likeliest place, and whether it is the right one."""

    @property
    def ece(self) -> float:
        """Expected calibration error over ten bins of confidence."""
        return sum(
            len(group) * abs(group[:, 0].mean() - group[:, 1].mean())
            for group in bins(self.confidence)
        ) / max(1, len(self.confidence))


def bins(confidence: Sequence[tuple[float, bool]]) -> list[np.ndarray]:
    """(confidence, right) by tenths of confidence; empty ones are left out."""
    pairs = np.array(confidence, float).reshape(-1, 2)
    tenth = np.minimum((pairs[:, 0] * 10).astype(int), 9)
    return [pairs[tenth == b] for b in range(10) if (tenth == b).any()]


async def probed(cases: Sequence[Case], method: str, settings: ProbeSettings) -> list[Found]:
    """Search each case with a method of `SEARCHES`."""
    found = []
    for case in cases:
        probe = PrefixProbe(case.sampler, case.problem, case.solution, case.root, settings)
        await SEARCHES[method](probe)
        found.append(_found(case, probe.evidence()))
    return found


async def by_change_point(
    cases: Sequence[Case],
    settings: ChangePointSettings,
    clues: Callable[[Case], Clues] = lambda _: Clues(),
) -> list[Found]:
    """Search each case as a shard does: the first ones teach all others."""
    calibration = Calibration([case.problem.id for case in cases[: settings.calibration]])
    found = []
    for case in cases:
        probe = PrefixProbe(case.sampler, case.problem, case.solution, case.root, drawn=case.drawn)
        weights = await calibration.weights(case.problem.id)
        located = await change_point(probe, settings, weights, clues(case))
        calibration.learn(case.problem.id, located.counts)
        calibration.close(case.problem.id)
        found.append(_found(case, probe.evidence()))
    return found


async def by_tree(cases: Sequence[Case], k: int) -> list[Found]:
    """Search the problem of each case with OmegaPRM; gives all wrong solutions it searched."""
    found = []
    settings = OmegaPRMSettings(k=k, searches=TREE_SEARCHES, keep_correct=0)
    for case in cases:
        tree = OmegaPRM(case.sampler, case.problem, lines, case.sampler.policy, settings)
        own = Rollout(Completion(case.solution.text, "stop", 0), case.solution.outcome)
        wrong = [r for r in case.drawn if case.place_in(r.completion.text) is not None]
        result = await tree.search(case.root, [own, *wrong])  # a text that comes twice is one
        seen: set[str] = set()
        for solution in result.solutions:
            truth = case.place_in(solution.text)
            if truth is not None:
                rows = [row for row in result.evidence if row.solution_id == solution.id]
                one = _found(replace(case, solution=solution, truth=truth), rows)
                # A prefix that several solutions share was drawn from once.
                prefixes = {solution.prefix((row.step or 0) + 1): row for row in rows}
                fresh = [row for text, row in prefixes.items() if text not in seen]
                seen |= set(prefixes)
                found.append(replace(one, rollouts=_draws(fresh), tokens=_tokens(fresh)))
    return found


def _draws(rows: Sequence[Evidence]) -> int:
    """Draws made for rows of rollout evidence, without those that were there before."""
    own = [row for row in rows if row.channel == "rollouts"]
    reused = [json.loads(row.detail)["reused"]["k"] for row in own if row.detail]
    return sum((r.k or 0) + r.n_truncated + r.n_unknown for r in own) - sum(reused)


def _tokens(rows: Sequence[Evidence]) -> int:
    return sum(row.cost_tokens for row in rows if row.channel == "rollouts")


def _found(case: Case, evidence: list[Evidence]) -> Found:
    policy = case.sampler.policy
    root = rollout_evidence(case.solution.id, -1, policy, Probed(case.root, None, "fixed"))
    return Found(case.solution, case.truth, [*evidence, root], _draws(evidence), _tokens(evidence))


def judge(found: Sequence[Found], rule: LabelSettings) -> Figures:
    """Label what was found by `rule` and hold it against the truth."""
    solutions = pl.DataFrame(pl.from_arrow(solutions_table(f.solution for f in found)))
    counted = solutions.with_columns(n_steps=pl.col("steps").list.len())
    evidence = pl.DataFrame(pl.from_arrow(evidence_table(e for f in found for e in f.evidence)))
    labels = label(counted, evidence, rule)
    places = labels.solutions["first_error"].to_list()
    if isinstance(rule, ChangePointRule):
        confidence = _posterior_confidence(found)
    else:
        confidence = _stated_confidence(labels.steps, found, places)
    n = len(found)
    return Figures(
        exact=sum(p == f.truth for p, f in zip(places, found, strict=True)) / n,
        abstained=sum(p is None for p in places) / n,
        rollouts=sum(f.rollouts for f in found) / n,
        tokens=sum(f.tokens for f in found) / n,
        confidence=tuple(confidence),
    )


def _posterior_confidence(found: Sequence[Found]) -> list[tuple[float, bool]]:
    """The posterior of the change-point rule, of all solutions that fit the model."""
    counts = [counts_of(f) for f in found]
    weights: Weights = fit([c for c in counts if c[1:].any()])
    pairs = []
    for f, counted in zip(found, counts, strict=True):
        belief = Belief.of(counted, weights)
        if belief.support() >= MISFIT:
            places = belief.places()
            pairs.append((float(places.max()), int(places.argmax()) == f.truth))
    return pairs


def counts_of(found: Found) -> np.ndarray:
    """(n, 2): right and wrong draws at each prefix."""
    counts = np.zeros((len(found.solution.steps), 2), int)
    for row in found.evidence:
        if row.channel == "rollouts" and row.step is not None and row.c is not None:
            counts[row.step + 1] = row.c, (row.k or 0) - row.c
    return counts


def _stated_confidence(
    steps: pl.DataFrame, found: Sequence[Found], places: Sequence[int | None]
) -> list[tuple[float, bool]]:
    """For a rule that tests prefix by prefix: that the last good and the first bad one are so."""
    stated = {
        (row["solution_id"], row["step"]): row["confidence"]
        for row in steps.iter_rows(named=True)
        if row["confidence"] is not None
    }
    pairs = []
    for f, place in zip(found, places, strict=True):
        if place is not None:
            both = [stated.get((f.solution.id, t), 1.0) for t in (place - 1, place)]
            pairs.append((both[0] * both[1], place == f.truth))
    return pairs


K = 8
"""Draws per prefix of the methods that have a fixed number."""
ANY = HardRule()
RELATIVE = HardRule(alive=AliveSettings(by="relative"))
Method = Callable[[Sequence[Case]], Awaitable[tuple[list[Found], LabelSettings]]]


async def _every_step(cases: Sequence[Case]) -> tuple[list[Found], LabelSettings]:
    return await probed(cases, "every-step", ProbeSettings(k=K)), ANY


async def _binary(cases: Sequence[Case]) -> tuple[list[Found], LabelSettings]:
    return await probed(cases, "binary", ProbeSettings(k=K)), ANY


async def _binary_relative(cases: Sequence[Case]) -> tuple[list[Found], LabelSettings]:
    settings = ProbeSettings(k=K, alive=RELATIVE.alive)
    return await probed(cases, "binary", settings), RELATIVE


async def _scan(cases: Sequence[Case]) -> tuple[list[Found], LabelSettings]:
    return await probed(cases, "scan", ProbeSettings(k=K, stop="early", wave=1)), ANY


async def _omegaprm(cases: Sequence[Case]) -> tuple[list[Found], LabelSettings]:
    return await by_tree(cases, K), ANY


async def _change_point(cases: Sequence[Case]) -> tuple[list[Found], LabelSettings]:
    return await by_change_point(cases, ChangePointSettings()), ChangePointRule()


METHODS: dict[str, Method] = {
    "every-step": _every_step,
    "binary": _binary,
    "binary-relative": _binary_relative,
    "scan": _scan,
    "omegaprm": _omegaprm,
    "change-point": _change_point,
}
"""What is compared, by the name in the tables."""

"""Rollouts per right label: every search judged against first errors that are known.

    python benchmarks/label_efficiency.py [--quick] [--json] [--n 200]

Sources: the simulated policy over a grid of skill, self-correction and length; made-up success
curves that break what the change-point model takes for granted; recorded rollouts of real policies
(record_replay.py). All searches of a solution see the same draws. Searches and label rules are the
package's own, with their defaults; label_methods.py says how they are joined. In each setting the
change-point search learns from its first problems as it does in a shard, and these are counted.
"""

import argparse
import asyncio
import json
import statistics
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl
from label_methods import METHODS, RELATIVE, Figures, bins, by_change_point, judge, probed
from label_worlds import DRAWS, RECORDING, Case, World, made_up, replayed, simulated

from stepmill.annotators.changepoint import ChangePointSettings, Clues
from stepmill.annotators.rollouts import ProbeSettings, prefix_of, tally
from stepmill.pipelines.changepoint_rule import ChangePointRule

SKILLS, SELF_CORRECTIONS, LENGTHS = (0.3, 0.5, 0.7, 0.9), (0.0, 0.05, 0.1, 0.2), (4, 8, 12)
LOW = 0.3
"""Success rate of the bare problem from which on the change-point search is meant to be good."""
WORLDS = {
    "as assumed": World(0.5),
    "skill flat": World(0.5, rise=0),
    "skill jumping": World(0.4, jump=True),
    "self-correction 0.2": World(0.5, echo=0.2),
    "self-correction 0.4, fading": World(0.5, echo=0.4, fade=0.4),
    "draws correlated": World(0.5, noise=0.15),
}
"""Made-up worlds; `as assumed` is there to compare with."""
WORLD_STEPS = 9
GRID = "word problems"
"""Name of the world in which the simulated policy lives."""
READ_AGAIN = ("every-step", "binary", "scan")
FIGURES = ("exact", "abstained", "rollouts", "tokens", "ece")
Row = dict[str, Any]
JUDGED = ((0.5, 0.05, 8), (0.7, 0.05, 12))
"""Skill, self-correction and steps of the settings in which a judge's index is confirmed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A set of cases and what is said of it in a row."""

    source: str
    world: str
    skill: float
    self_correction: float
    steps: float
    cases: Sequence[Case]


async def all_settings(n: int, quick: bool) -> AsyncIterator[Setting]:
    """All settings, one after the other, `n` solutions each as far as there are so many."""
    skills, corrections, lengths = SKILLS, SELF_CORRECTIONS, LENGTHS
    if quick:
        skills, corrections, lengths = (0.5, 0.9), (0.05,), (8,)
    for skill in skills:
        for correction in corrections:
            for steps in lengths:
                cases = [c async for c in simulated(skill, correction, steps, n, seed=steps)]
                yield Setting("simulated", GRID, skill, correction, steps, cases)
    for name, world in WORLDS.items():
        cases = [c async for c in made_up(world, WORLD_STEPS, n, seed=1)]
        yield Setting("simulated", name, world.skill, world.echo, WORLD_STEPS, cases)
    for model in sorted(pl.read_parquet(RECORDING, columns=["model"])["model"].unique()):
        cases = [c async for c in replayed(model)]
        for name, chosen in (
            (f"{model}, root from {LOW}", [c for c in cases if (c.root.rate or 0) >= LOW]),
            (f"{model}, root below {LOW}", [c for c in cases if (c.root.rate or 0) < LOW]),
        ):
            if chosen:
                yield await _recorded(name, chosen[:n])


async def _recorded(name: str, cases: Sequence[Case]) -> Setting:
    """Skill, self-correction and length as they were measured, over all draws recorded."""
    roots, after = [], []
    for case in cases:
        for t in range(len(case.solution.steps)):
            prefix = prefix_of(case.problem, case.solution, t)
            rate = tally(await case.sampler.rollouts(case.problem, prefix, DRAWS)).rate or 0.0
            if t == 0:
                roots.append(rate)
            elif t > case.truth:
                after.append(rate)
    return Setting(
        "replay",
        name,
        round(statistics.mean(roots), 3),
        round(statistics.mean(after), 3) if after else 0.0,
        round(statistics.mean(len(c.solution.steps) for c in cases), 1),
        cases,
    )


async def compare(setting: Setting) -> tuple[dict[str, Figures], dict[str, Figures]]:
    """Figures of every method in one setting; and of some counts read by another rule.

    With many draws, every-step shows how much of the truth rollouts can tell at all.
    """
    figures, again = {}, {}
    for name, method in METHODS.items():
        found, rule = await method(setting.cases)
        figures[name] = judge(found, rule)
        if name in READ_AGAIN:
            again[f"{name}, read again"] = judge(found, ChangePointRule())
    if setting.source == "replay":
        many = DRAWS // 2  # unknown ones are made up for by as many again
        settings = ProbeSettings(k=many, alive=RELATIVE.alive)
        found = await probed(setting.cases, "every-step", settings)
        again[f"every-step, {many} draws, relative"] = judge(found, RELATIVE)
    return figures, again


def row(setting: Setting, method: str, figures: Figures) -> Row:
    """One row of the result."""
    return {
        "source": setting.source,
        "world": setting.world,
        "skill": setting.skill,
        "self_correction": setting.self_correction,
        "steps": setting.steps,
        "method": method,
        "n": len(setting.cases),
        "exact": round(figures.exact, 4),
        "rollouts": round(figures.rollouts, 2),
        "tokens": round(figures.tokens, 1),
        "ece": round(figures.ece, 4),
        "abstained": round(figures.abstained, 4),
    }


async def with_judge(n: int) -> list[Row]:
    """What a judge's index saves when it is right, and whether it is found out when it is wrong."""
    kinds: dict[str, Callable[[Case], Clues]] = {
        "none": lambda case: Clues(),
        "right": lambda case: Clues(judged=case.truth),
        "wrong": lambda case: Clues(judged=(case.truth + 3) % len(case.solution.steps)),
    }
    rows = []
    for skill, correction, steps in JUDGED:
        cases = [c async for c in simulated(skill, correction, steps, n, seed=steps)]
        setting = Setting("simulated", GRID, skill, correction, steps, cases)
        for kind, clues in kinds.items():
            found = await by_change_point(cases, ChangePointSettings(), clues)
            figures = judge(found, ChangePointRule())
            rows.append({**row(setting, "change-point", figures), "judge": kind})
    return rows


@dataclass(slots=True)
class Results:
    """All that was measured."""

    rows: list[Row]
    """One per setting and method."""
    again: list[Row]
    """The same for counts of other searches that the change-point rule reads."""
    judged: list[Row]
    """Change-point searches that a judge's index came before; `judge` says which."""
    reliability: dict[str, list[Row]]
    """By source: the change-point posterior, by tenths of its probability."""


async def measure(n: int, quick: bool) -> Results:
    """Everything."""
    results = Results([], [], await with_judge(n), {})
    pairs: dict[str, list[tuple[float, bool]]] = {}
    async for setting in all_settings(n, quick):
        figures, again = await compare(setting)
        results.rows += [row(setting, name, found) for name, found in figures.items()]
        results.again += [row(setting, name, found) for name, found in again.items()]
        made_up_world = setting.source == "simulated" and setting.world != GRID
        kind = "made-up worlds" if made_up_world else setting.source
        pairs.setdefault(kind, []).extend(figures["change-point"].confidence)
    results.reliability = {
        kind: [
            {"said": round(g[:, 0].mean(), 3), "right": round(g[:, 1].mean(), 3), "n": len(g)}
            for g in bins(found)
        ]
        for kind, found in pairs.items()
    }
    return results


def pooled(rows: Sequence[Row], by: str) -> list[Row]:
    """Means over all rows that share `by` and the method, in order of their coming."""
    groups: dict[tuple[Any, str], list[Row]] = {}
    for one in rows:
        groups.setdefault((one[by], one["method"]), []).append(one)
    return [
        {by: key, "method": method}
        | {name: statistics.mean(one[name] for one in group) for name in FIGURES}
        for (key, method), group in groups.items()
    ]


def table(rows: Sequence[Row], by: str) -> None:
    """Print rows as Markdown."""
    print(f"| {by.replace('_', '-')} | method | exact | abstained | rollouts | tokens | ECE |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for one in rows:
        print(
            f"| {one[by]} | {one['method']} | {one['exact']:.3f} | {one['abstained']:.3f} |"
            f" {one['rollouts']:.1f} | {one['tokens']:.0f} | {one['ece']:.3f} |"
        )
    print()


def report(results: Results) -> None:
    """Print all tables."""
    grid = [one for one in results.rows if one["world"] == GRID]
    worlds = [one for one in results.rows if one["source"] == "simulated" and one not in grid]
    replay = [one for one in results.rows if one["source"] == "replay"]
    for title, rows, by in (
        (
            "Simulated policy, by self-correction",
            pooled(grid, "self_correction"),
            "self_correction",
        ),
        ("Simulated policy, by skill", pooled(grid, "skill"), "skill"),
        ("Simulated policy, by steps", pooled(grid, "steps"), "steps"),
        ("Worlds that break the assumptions", worlds, "world"),
        ("Real policies, replayed", replay, "world"),
        (
            "Counts of other searches read by the change-point rule: simulated policy",
            pooled([one for one in results.again if one["world"] == GRID], "self_correction"),
            "self_correction",
        ),
        (
            "The same: real policies",
            [one for one in results.again if one["source"] == "replay"],
            "world",
        ),
    ):
        print(f"### {title}\n")
        table(rows, by)
    print("### A judge's index first\n\n| skill | steps | judge | exact | abstained | rollouts |")
    print("| --- | --- | --- | --- | --- | --- |")
    for one in results.judged:
        print(
            f"| {one['skill']} | {one['steps']} | {one['judge']} | {one['exact']:.3f} |"
            f" {one['abstained']:.3f} | {one['rollouts']:.1f} |"
        )
    print("\n### Reliability of the posterior\n\n| source | said | right | solutions |")
    print("| --- | --- | --- | --- |")
    for kind, groups in results.reliability.items():
        for group in groups:
            print(f"| {kind} | {group['said']:.2f} | {group['right']:.2f} | {group['n']} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, help="solutions per setting; 200, or 50 with --quick")
    parser.add_argument("--quick", action="store_true", help="only two settings of the grid")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    n = options.n or (50 if options.quick else 200)
    results = asyncio.run(measure(n, options.quick))
    if options.json:
        print(json.dumps(asdict(results)))
    else:
        report(results)


if __name__ == "__main__":
    main()

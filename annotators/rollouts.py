"""Rollouts from the prefixes of one solution: drawing, counting, deciding, and the evidence.

A search (annotators/searches.py) chooses which prefix to spend draws on. Here is what every search
shares: `probe` draws at a prefix until its stop rule is content and says whether the prefix is
alive. Nothing here knows engines, ledgers or files: rollouts come from a `Sampler`. Prefix t is the
first t steps, 0 <= t <= n; t = 0 is the bare problem and t = n the finished solution, whose outcome
the answer check decided, so neither is ever probed.

Source of the rules: Math-Shepherd (any success of k draws), EpicPRM and UnPRM (below a share of
the problem's own success rate).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from pydantic import Field

from stepmill.annotators.stop_rules import posterior_test, sequential_test
from stepmill.engines.base import Prefix
from stepmill.records import Completion, Evidence, Outcome, Problem, Solution, Verdict
from stepmill.settings import Settings

CHANNEL = "rollouts"
"""Channel of evidence that rests on counts of rollouts."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """A completion with the verdict on its final answer."""

    completion: Completion
    outcome: Outcome


class Sampler(Protocol):
    """Draws rollouts and pays only for those that are not stored yet."""

    @property
    def policy(self) -> str:
        """Fingerprint of the policy that draws."""
        ...

    async def rollouts(self, problem: Problem, prefix: Prefix, n: int) -> Sequence[Rollout]:
        """The first `n` draws at `prefix`, in the order of their index."""
        ...


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over the draws at one prefix; c <= k, and k holds known outcomes only."""

    c: int = 0
    k: int = 0
    n_truncated: int = 0
    n_unknown: int = 0
    tokens: int = 0

    @property
    def drawn(self) -> int:
        """All draws, whatever became of them."""
        return self.k + self.n_truncated + self.n_unknown

    @property
    def rate(self) -> float | None:
        """Share of right ones, c / k, in [0, 1]; None when no outcome is known."""
        return self.c / self.k if self.k else None


def tally(rollouts: Iterable[Rollout]) -> Tally:
    """Count the outcomes of `rollouts`."""
    c = k = truncated = unknown = tokens = 0
    for rollout in rollouts:
        tokens += rollout.completion.n_tokens
        match rollout.outcome.verdict:
            case Verdict.CORRECT:
                c, k = c + 1, k + 1
            case Verdict.INCORRECT:
                k += 1
            case Verdict.UNKNOWN if rollout.completion.finish_reason == "length":
                truncated += 1
            case Verdict.UNKNOWN:
                unknown += 1
    return Tally(c, k, truncated, unknown, tokens)


class AliveSettings(Settings):
    """When a prefix counts as alive: some way from it still leads to the right answer."""

    by: Literal["any", "fraction", "relative"] = "any"
    """`any`: one success is enough. `fraction`: at least `threshold` of the draws.
    `relative`: at least `threshold` times the problem's own success rate."""
    threshold: float = Field(default=0.5, gt=0, le=1)
    """Share for `fraction` and `relative`; `any` does not use it."""

    def needed(self, k: int, root: Tally) -> int:
        """Successes among `k` known draws that make a prefix alive; at least 1.

        Without a known root rate `relative` falls back to one success.
        """
        if self.by == "any":
            return 1
        share = Fraction(str(self.threshold))  # 0.07 * 100 is 7, not 7.000000000000001
        if self.by == "relative":
            share *= Fraction(root.c, root.k) if root.k else 0
        return max(1, math.ceil(share * k))


class ProbeSettings(Settings):
    """How many draws a prefix gets and when they stop."""

    k: int = Field(default=8, ge=1, le=4096)
    """Draws with a known outcome wanted at each prefix that is looked at."""
    alive: AliveSettings = AliveSettings()
    """When a prefix counts as alive."""
    stop: Literal["fixed", "early", "sprt", "beta"] = "fixed"
    """`fixed`: always k draws. `early`: stop as soon as the rule is decided either way; the hard
    label stays the same. `sprt`: Wald's test of the problem's own success rate against `dead_rate`
    times that. `beta`: stop when the posterior of the success rate lies above or below
    `alive.threshold` times the problem's own. Under all but `fixed`, c / k is biased, and the soft
    rule smooths it. Label counts of `sprt` and `beta` with the rule `change-point`, or by
    `relative`: one success decides nothing there."""
    wave: int = Field(default=0, ge=0)
    """Draws asked for at a time unless `fixed`, which asks for all; 0 takes a quarter of k."""
    error: float = Field(default=0.05, gt=0, lt=0.5)
    """Rate of wrong decisions that `sprt` and `beta` allow, either way."""
    dead_rate: float = Field(default=0.1, gt=0, lt=1)
    """For `sprt`: success rate of a dead prefix, relative to the problem's own."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What is known of one prefix after its draws."""

    tally: Tally
    alive: bool | None
    """None: too few known outcomes to say."""
    stop_reason: str
    """`fixed`; `success` or `hopeless` (early); `likely-alive`, `likely-dead` or `limit` (sprt and
    beta, the last when k draws did not decide); or `too-few-known`: fewer than half of k."""


async def probe(
    sampler: Sampler, problem: Problem, prefix: Prefix, root: Tally, settings: ProbeSettings
) -> tuple[Probed, Sequence[Rollout]]:
    """Draw at `prefix` until the stop rule is content.

    Draws without a known outcome are made up for, up to as many again as k. What is known then
    decides, if it would whatever the missing outcomes were; with at least half of k known, their
    share stands for all; else the prefix stays undecided.
    """
    k = settings.k
    wave = k if settings.stop == "fixed" else settings.wave or max(1, k // 4)
    asked, limit = min(wave, k), 2 * k
    while True:
        drawn = await sampler.rollouts(problem, prefix, asked)
        counts = tally(drawn)
        lacking = k - counts.k
        alive, reason = _early_decision(counts, lacking, root, settings)
        if reason:
            return Probed(counts, alive, reason), drawn
        if not lacking or asked >= limit:
            break
        asked = min(limit, asked + min(wave, lacking))
    return _late_decision(counts, lacking, root, settings), drawn


def _early_decision(
    counts: Tally, lacking: int, root: Tally, settings: ProbeSettings
) -> tuple[bool | None, str]:
    """Whether the prefix is alive, and the reason to stop now; (None, "") to go on."""
    if settings.stop == "early":
        alive = _decided(counts, lacking, settings.alive.needed(settings.k, root))
        reasons = ("success", "hopeless")
    elif settings.stop in ("sprt", "beta"):
        alive, reasons = _test(counts, root, settings), ("likely-alive", "likely-dead")
    else:
        return None, ""
    return alive, "" if alive is None else reasons[0 if alive else 1]


def _late_decision(counts: Tally, lacking: int, root: Tally, settings: ProbeSettings) -> Probed:
    """What the draws say when there will be no more."""
    need = settings.alive.needed
    tested = settings.stop in ("sprt", "beta")
    alive = None if tested else _decided(counts, lacking, need(settings.k, root))
    if 2 * counts.k < settings.k:
        return Probed(counts, alive, "too-few-known")
    if tested:
        return Probed(counts, _test(counts, root, settings, error=0.5), "limit")
    return Probed(counts, counts.c >= need(counts.k, root) if alive is None else alive, "fixed")


def _decided(counts: Tally, lacking: int, need: int) -> bool | None:
    """Whether `need` successes are reached; None while the `lacking` outcomes could tell."""
    if counts.c >= need:
        return True
    return None if counts.c + lacking >= need else False


def _test(
    counts: Tally, root: Tally, settings: ProbeSettings, error: float | None = None
) -> bool | None:
    """What the test of `sprt` or `beta` says; with an error of 0.5, what is likelier."""
    error = settings.error if error is None else error
    own = (root.c + 1) / (root.k + 2)  # the problem's rate; its mean under a uniform prior
    if settings.stop == "sprt":
        return sequential_test(counts.c, counts.k, own, settings.dead_rate * own, error)
    return posterior_test(counts.c, counts.k, settings.alive.threshold * own, error)


def prefix_of(problem: Problem, solution: Solution, t: int) -> Prefix:
    """The first `t` steps of `solution` as something to continue."""
    return Prefix(problem.question, solution.prefix(t), solution.token_ids if t else None)


def rollout_evidence(solution_id: str, step: int, policy: str, found: Probed) -> Evidence:
    """The counts at the prefix that ends with `step` (-1: the bare problem) as evidence."""
    counts = found.tally
    return Evidence(
        solution_id=solution_id,
        step=step,
        channel=CHANNEL,
        policy=policy,
        value=counts.rate,
        c=counts.c,
        k=counts.k,
        n_truncated=counts.n_truncated,
        n_unknown=counts.n_unknown,
        cost_tokens=counts.tokens,
        stop_reason=found.stop_reason,
    )

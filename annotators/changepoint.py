"""Search for the first error that keeps a posterior over its place and draws where it learns most.

Each wave of draws goes to the prefix that promises most information per token; early prefixes cost
longer rollouts. It stops when one place is probable enough, when a draw would tell too little, or
at a limit. What was there before, such as a judge's index, may say where to look first; the place
itself rests on rollouts alone, so that the two can be held against one another. The model is in
changepoint_model.py; nothing here knows engines or files.
"""

import json
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from stepmill.annotators.changepoint_model import (
    DEFAULT,
    MAX_STEPS,
    MISFIT,
    Array,
    Belief,
    Weights,
    bits,
)
from stepmill.annotators.prefix_probe import PrefixProbe
from stepmill.annotators.rollouts import Tally
from stepmill.records import Evidence
from stepmill.settings import Settings

CHANNEL = "change-point"
"""Channel of the statement that a search makes about a whole solution."""
_PROMPT_SHARE = 0.3
"""What a draw costs besides its tokens, as a share of a whole solution."""
_MISFIT_AFTER = 8
"""Known draws before the model may be found not to fit."""


class ChangePointSettings(Settings):
    """When the search for one change in the success rate stops, and what it may cost."""

    method: Literal["change-point"] = "change-point"
    """Bayesian search for the first error; needs the fewest rollouts."""
    annotate: Literal["wrong"] = "wrong"
    """Wrong solutions are searched: a right one has no first error that rollouts could show."""
    k: int = Field(default=16, ge=1, le=4096)
    """Draws of a separate completer at the bare problem. The policy itself needs none: its
    solutions tell its success rate."""
    confidence: float = Field(default=0.9, gt=0.5, lt=1)
    """Stop when a place is this probable, unless draws tell so much that more of them pay."""
    finish: float = Field(default=0.05, ge=0)
    """Bits about the place. A search that is confident goes on while a draw is expected to tell
    more than this: where the policy is strong, one or two more make a label nearly sure."""
    max_draws: int = Field(default=40, ge=1, le=4096)
    """Draws per solution at most."""
    worth: float = Field(default=0.01, ge=0, le=1)
    """Share of the doubt about the place that a draw must be expected to take away; below, the
    search gives up. 0 goes on to `max_draws`."""
    wave: int = Field(default=1, ge=1)
    """Draws per request. 1 needs the fewest draws; more save requests where latency counts."""
    calibration: int = Field(default=32, ge=0)
    """Problems at the beginning of each shard whose counts teach the searches of the others how
    the policy behaves: its skill, how it corrects itself. These wait for them. 0: nobody learns."""
    judge_reliability: float = Field(default=0.6, gt=0, lt=1)
    """How often the index of a judge that was asked first is right, as measured elsewhere; it
    decides how soon the search looks at other steps."""


@dataclass(frozen=True, slots=True)
class Clues:
    """What is known of the place before the first draw."""

    false_step: int | None = None
    """A step proven false, from 0: the first error is there or before."""
    judged: int | None = None
    """A judge's first error, from 0."""
    reliability: float = 0.5
    """How often that judge's index is right, in [0, 1]; says how soon to look elsewhere."""

    def bound(self, n: int, prior: Array) -> Array:
        """The prior, with the places after a proven false step ruled out; (n,), sums to 1."""
        if self.false_step is None:
            return prior
        held = np.where(np.arange(n) <= self.false_step, prior, 0.0)
        normed: Array = held / held.sum()
        return normed

    def tilt(self, n: int) -> Array | None:
        """What the judge's index adds to the place's prior, as factors (n,); None for nothing."""
        if self.judged is None or not 0 <= self.judged < n:
            return None
        others = (1 - self.reliability) / max(1, n - 1)
        factors: Array = np.where(np.arange(n) == self.judged, self.reliability, others)
        return factors


@dataclass(frozen=True, slots=True)
class Located:
    """What a search found."""

    place: int | None
    """Index of the first wrong step; None when the search abstains."""
    posterior: tuple[float, ...]
    """Probability of each step to be the first wrong one, by rollouts alone; they sum to 1. Empty
    for a solution that is too long."""
    stop_reason: str
    """`confident`; or, with no place, `not-worth` (flat: no draw would tell much), `budget`,
    `misfit` (the counts do not follow one change) or `too-long` (more than MAX_STEPS steps)."""
    support: float
    """Log of how much likelier the counts are under the model than under none."""
    counts: NDArray[np.int64]
    """(n, 2): right and wrong draws at each prefix, from the bare problem on."""


async def change_point(
    probe: PrefixProbe,
    settings: ChangePointSettings,
    weights: Weights = DEFAULT,
    clues: Clues = Clues(),
) -> Located:
    """Find the first error of one wrong solution; leaves counts and statement in the probe.

    Equal draws lead to equal results, whatever else is at work.
    """
    n = probe.n_steps
    if n > MAX_STEPS:
        nothing = Located(None, (), "too-long", 0.0, np.zeros((n, 2), np.int64))
        probe.conclude(nothing.stop_reason, _statement(probe, nothing))
        return nothing
    belief = Belief(n, weights, clues.bound(n, weights.places(n)))
    belief.see(0, probe.root.c, probe.root.k - probe.root.c)
    tilt = clues.tilt(n)
    cost = np.array([probe.share_after(t) for t in range(n)]) + _PROMPT_SHARE
    counts = [Tally() for _ in range(n)]
    reused = _reuse(probe, belief)
    while True:
        place, gains = belief.gains()
        reason = _reason_to_stop(belief, place, gains[1:], counts, settings)
        if reason:
            break
        wanted = gains if tilt is None else belief.gains(tilt)[1]
        known = np.array([(c.k + 1) / (c.drawn + 1) for c in counts])
        t = 1 + int((wanted * known / cost)[1:].argmax())
        n_more = min(settings.wave, settings.max_draws - sum(c.drawn for c in counts))
        before, counts[t] = counts[t], await probe.draw(t, counts[t].drawn + n_more)
        right = counts[t].c - before.c
        belief.see(t, right, counts[t].k - before.k - right)
    found = Located(
        int(place.argmax()) if reason == "confident" else None,
        tuple(place.tolist()),
        reason,
        belief.support(),
        np.array([(c.c, c.k - c.c) for c in (probe.root, *counts[1:])]) + reused,
    )
    probe.conclude(reason, _statement(probe, found))
    return found


def _reuse(probe: PrefixProbe, belief: Belief) -> NDArray[np.int64]:
    """Let the belief see the draws from the bare problem that pass through one prefix.

    The one at which they promise most information, by their number and not by their outcomes.

    Returns:
        (n, 2): right and wrong ones at each prefix; at most one row is not 0.
    """
    found = np.zeros((probe.n_steps, 2), np.int64)
    passing = np.array([0, *(probe.passing(t).k for t in range(1, probe.n_steps))])
    t = int((belief.gains()[1] * passing).argmax())
    if passing[t]:
        counts = probe.reuse(t)
        found[t] = counts.c, counts.k - counts.c
        belief.see(t, counts.c, counts.k - counts.c)
    return found


def _reason_to_stop(
    belief: Belief, place: Array, gains: Array, counts: list[Tally], settings: ChangePointSettings
) -> str:
    """Why no more draws are wanted; empty while they are."""
    if sum(c.k for c in counts) >= _MISFIT_AFTER and belief.support() < MISFIT:
        return "misfit"
    best, spent = gains.max(initial=0), sum(c.drawn for c in counts) >= settings.max_draws
    if place.max() >= settings.confidence and (spent or best <= settings.finish):
        return "confident"
    if best < settings.worth * bits(place).sum():
        return "not-worth"
    return "budget" if spent else ""


def _statement(probe: PrefixProbe, found: Located) -> Evidence:
    """What the search found, as evidence about the whole solution."""
    detail = {
        "posterior": [round(p, 4) for p in found.posterior],
        "support": round(found.support, 3),
    }
    return Evidence(
        solution_id=probe.solution_id,
        step=None,
        channel=CHANNEL,
        policy=probe.policy,
        value=None if found.place is None else float(found.place),
        detail=json.dumps(detail),
        stop_reason=found.stop_reason,
    )

"""A model of rollout counts along one wrong solution, with the first error's place as the unknown.

A rollout from a prefix before the error succeeds with one probability, from a prefix that holds the
error with another. With n steps, p the success rate of the bare problem, e the index of the first
wrong step and t the steps in the prefix:

    t <= e:  alive(t) = p ^ ((1 - t/n) ^ rise)           from p at the problem to 1 at the end
    t > e:   FLOOR + echo * alive(t) ^ tie * fade ^ (t - e - 1)  and at most half of alive(t)

`rise` 0 is a success rate that stays as it is, 1 a chance of failure that is the same for each
step. After the error the policy corrects itself now and then (`echo`), maybe ever less (`fade`),
maybe as well as it solves the problem otherwise (`tie` 1) or at a rate of its own (`tie` 0). All of
these and p are unknown: the posterior runs over a grid of them, times the n places. `fit` learns
how common each grid point is from many solutions (empirical Bayes). Nothing here knows prefixes'
texts, policies or how draws are made. The idea is Stepmill's own; binary search for the first error
is OmegaPRM's (Luo et al., 2024, section 3.2).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import lgamma

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SKILLS = (0.02, 0.05, 0.1, 0.18, 0.28, 0.4, 0.52, 0.64, 0.76, 0.87, 0.95)
"""Values of p."""
_RISES = {0.0: 0.3, 0.5: 0.2, 1.0: 0.3, 2.0: 0.2}
_ECHOES = {
    (0.0, 1.0, 1.0): 0.3,
    **{
        (echo, fade, tie): weight / 3
        for echo, weight in ((0.04, 0.25), (0.1, 0.2), (0.2, 0.15), (0.4, 0.1))
        for fade, tie in ((1.0, 1.0), (0.4, 1.0), (1.0, 0.0))
    },
}
SHAPES = tuple((rise, *echo) for rise, echo in itertools.product(_RISES, _ECHOES))
"""Values of (rise, echo, fade, tie)."""
FLOOR = 0.002
"""Success rate of a prefix from which the policy never recovers: answers can be right by chance."""
MAX_STEPS = 64
"""Longer solutions are left alone: the grid would take too long. Merge their steps."""
MISFIT = -3.0
"""Below this log ratio (about 1 to 20) the counts speak against the model; see `Belief.support`."""
_PSEUDO_SOLUTIONS = 10.0
"""How many solutions the default weights count for when others are learned."""


@dataclass(frozen=True)
class Weights:
    """How common skills, shapes and a mistake in the very last step are."""

    skills: tuple[float, ...]
    """Weight of each of SKILLS; they sum to 1."""
    shapes: tuple[float, ...]
    """Weight of each of SHAPES; they sum to 1."""
    last: float = 1.0
    """How likely the last step is to hold the first error, relative to any other step."""

    @cached_property
    def log_joint(self) -> Array:
        """Log weight of each grid point, skills outside, shapes inside; (skills * shapes,)."""
        joint = np.outer(self.skills, self.shapes).ravel()
        logs: Array = np.log(np.maximum(joint, 1e-300))
        return logs

    def places(self, n: int) -> Array:
        """Prior over the place of the first error among `n` steps; (n,), sums to 1."""
        prior = np.ones(n)
        prior[-1] = self.last if n > 1 else 1.0
        normed: Array = prior / prior.sum()
        return normed


DEFAULT = Weights(
    tuple(1 / len(SKILLS) for _ in SKILLS),
    tuple(a * b for a, b in itertools.product(_RISES.values(), _ECHOES.values())),
)
"""Before any data: broad, with little self-correction more likely than much."""


@lru_cache(maxsize=MAX_STEPS)
def rates(n: int) -> NDArray[np.float32]:
    """Success rates for solutions of `n` steps; (places, grid, prefixes), each in (0, 1).

    Entry [e, m, t] is that of grid point m and prefix t with the first error at e. Single precision
    halves a table that takes 9 MB at the largest n.
    """
    grid = np.array([(skill, *shape) for skill in SKILLS for shape in SHAPES])
    skill, rise, echo, fade, tie = grid.T[:, None, :, None]  # each (1, grid, 1)
    t = np.arange(n)[None, None, :]
    e = np.arange(n)[:, None, None]
    alive = np.clip(skill ** ((1 - t / n) ** rise), FLOOR, 0.995)
    dead = FLOOR + echo * alive**tie * fade ** np.maximum(t - e - 1, 0)
    return np.where(t <= e, alive, np.minimum(dead, alive / 2)).astype(np.float32)


class Belief:
    """What the counts at the prefixes of one solution say of the place of its first error.

    Args:
        n: steps of the solution, 1 … MAX_STEPS.
        weights: how common what is.
        places: prior over the place, (n,); that of `weights` when left out.
    """

    def __init__(self, n: int, weights: Weights = DEFAULT, places: Array | None = None) -> None:
        self.n = n
        self._rates = rates(n)
        prior = weights.places(n) if places is None else places
        with np.errstate(divide="ignore"):  # a place that is ruled out has the log weight -inf
            self._log = np.log(prior)[:, None] + weights.log_joint[None, :]  # (places, grid)
        self._seen = [(0, 0)] * n

    @classmethod
    def of(cls, counts: NDArray[np.int64], weights: Weights = DEFAULT) -> "Belief":
        """The belief after all counts of a solution, (n, 2): right and wrong at each prefix."""
        belief = cls(len(counts), weights)
        for t, (right, wrong) in enumerate(counts.tolist()):
            if right or wrong:
                belief.see(t, right, wrong)
        return belief

    def see(self, t: int, right: int, wrong: int) -> None:
        """Take in `right` successes and `wrong` failures more at prefix `t`, 0 <= t < n."""
        here = self._rates[:, :, t].astype(float)
        self._log += right * np.log(here) + wrong * np.log1p(-here)
        self._seen[t] = self._seen[t][0] + right, self._seen[t][1] + wrong

    def places(self) -> Array:
        """Posterior over the place; (n,), sums to 1."""
        places: Array = self._joint().sum(axis=1)
        return places

    def gains(self, tilt: Array | None = None) -> tuple[Array, Array]:
        """The posterior over the place, and what one more draw at each prefix would tell of it.

        Args:
            tilt: factors of the places, (n,), that the prior does not have.

        Returns:
            (n,) probabilities and (n,) expected information in bits, the mutual information of the
            place and the outcome of a draw.
        """
        joint = self._joint()
        if tilt is not None:
            joint *= tilt[:, None]
            joint /= joint.sum()
        place = joint.sum(axis=1)
        single = joint.astype(np.float32)[:, None, :]
        right = np.matmul(single, self._rates)[:, 0, :].astype(float)  # (places, prefixes)
        wrong = place[:, None] - right
        p = right.sum(axis=0)
        told = bits(p) + bits(1 - p) - (bits(right) + bits(wrong)).sum(axis=0)
        return place, np.maximum(told + bits(place).sum(), 0)

    def support(self) -> float:
        """Log of how much likelier the counts are under the model than under none.

        Under none, every prefix has a success rate of its own, any in [0, 1] as likely. Far below
        0 the counts follow no single change.
        """
        return _log_sum(self._log.ravel()) - sum(_log_apart(*seen) for seen in self._seen)

    def _joint(self) -> Array:
        weights = np.exp(self._log - self._log.max())
        joint: Array = weights / weights.sum()
        return joint


def fit(counts: Sequence[NDArray[np.int64]], rounds: int = 60) -> Weights:
    """Learn weights from the counts of many wrong solutions of one policy.

    Expectation maximisation of their likelihood, the places summed out; the default weights count
    as a few solutions more. The order of `counts` makes no difference.

    Args:
        counts: per solution (n, 2): right and wrong draws at each prefix from the bare problem on;
            those of more than MAX_STEPS steps are passed over.
        rounds: of the maximisation.
    """
    elsewhere, last, n_steps = _likelihoods(counts)
    if not len(n_steps):
        return DEFAULT
    skills, shapes, odds = np.array(DEFAULT.skills), np.array(DEFAULT.shapes), DEFAULT.last
    for _ in range(rounds):
        weights = np.log(np.outer(skills, shapes).ravel())
        share = odds / (n_steps - 1 + odds)  # of the last place
        here = last + np.log(share)[:, None] + weights
        there = elsewhere - np.log(n_steps - 1 + odds)[:, None] + weights
        top = np.maximum(here, there).max(axis=1, keepdims=True)
        here, there = np.exp(here - top), np.exp(there - top)
        total = (here + there).sum(axis=1, keepdims=True)
        held = ((here + there) / total).sum(axis=0).reshape(len(SKILLS), len(SHAPES))
        skills = _with_default(held.sum(axis=1), DEFAULT.skills)
        shapes = _with_default(held.sum(axis=0), DEFAULT.shapes)
        at_last = float((here / total).sum()) + _PSEUDO_SOLUTIONS / 10
        odds = at_last / (float((1 / (n_steps - 1 + odds)).sum()) + _PSEUDO_SOLUTIONS / 10)
    return Weights(tuple(skills.tolist()), tuple(shapes.tolist()), odds)


def _with_default(held: Array, default: Sequence[float]) -> Array:
    found = held + _PSEUDO_SOLUTIONS * np.array(default)
    normed: Array = found / found.sum()
    return normed


def _likelihoods(counts: Sequence[NDArray[np.int64]]) -> tuple[Array, Array, Array]:
    """Log likelihoods of each grid point, summed over all places but the last, and at the last.

    Returns:
        (solutions, grid) twice, and (solutions,) numbers of steps; in order of the steps.
    """
    elsewhere, last = [], []
    short = [one for one in counts if len(one) <= MAX_STEPS]
    ordered = sorted(short, key=lambda one: (len(one), one.tolist()))  # sums must not depend on it
    for n, group in itertools.groupby(ordered, key=len):
        found = rates(n).astype(float).reshape(-1, n).T  # (prefixes, places * grid)
        right, wrong = np.log(found), np.log1p(-found)
        for one in group:
            logs = (one[:, 0] @ right + one[:, 1] @ wrong).reshape(n, -1)
            last.append(logs[-1])
            elsewhere.append(np.logaddexp.reduce(logs[:-1], axis=0, initial=-np.inf))
    shape = len(ordered), len(SKILLS) * len(SHAPES)
    n_steps = np.array([len(one) for one in ordered], float)
    return np.reshape(elsewhere, shape), np.reshape(last, shape), n_steps


def bits(p: Array) -> Array:
    """-p log2 p, with 0 log 0 = 0."""
    found: Array = -p * np.log2(np.maximum(p, 1e-300))
    return found


def _log_sum(logs: Array) -> float:
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).sum()))


def _log_apart(right: int, wrong: int) -> float:
    """Log probability of a series of outcomes under a rate that is uniform in [0, 1]."""
    return lgamma(right + 1) + lgamma(wrong + 1) - lgamma(right + wrong + 2)

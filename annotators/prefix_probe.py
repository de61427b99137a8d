"""The prefixes of one solution, as a search sees them: what to ask, and the evidence it leaves.

`alive` probes a prefix as the rules of rollouts.py say; `draw` gives plain counts to a search with
rules of its own. Nothing here chooses a prefix.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from stepmill.annotators.rollouts import (
    Probed,
    ProbeSettings,
    Rollout,
    Sampler,
    Tally,
    prefix_of,
    probe,
    rollout_evidence,
    tally,
)
from stepmill.engines.base import Prefix
from stepmill.records import Evidence, Problem, Solution


class PrefixProbe:
    """The prefixes of one solution.

    Args:
        sampler: where rollouts come from.
        problem: the problem of the solution.
        solution: the solution under search.
        root: counts at the bare problem.
        settings: draws per prefix and the alive rule, for `alive`; `draw` does not use them.
        drawn: draws of the same policy from the bare problem, the solution among them, for `reuse`.
    """

    def __init__(
        self,
        sampler: Sampler,
        problem: Problem,
        solution: Solution,
        root: Tally,
        settings: ProbeSettings | None = None,
        drawn: Sequence[Rollout] = (),
    ) -> None:
        self.root = root
        self._sampler = sampler
        self._problem = problem
        self._solution = solution
        self._settings = settings or ProbeSettings()
        self._others = _without(drawn, solution.text)
        self._probed: dict[int, Probed] = {}
        self._reused: dict[int, Tally] = {}
        self._statements: list[Evidence] = []

    @property
    def n_steps(self) -> int:
        """Number of steps of the solution."""
        return len(self._solution.steps)

    @property
    def solution_id(self) -> str:
        """Id of the solution."""
        return self._solution.id

    @property
    def policy(self) -> str:
        """Fingerprint of the policy that draws."""
        return self._sampler.policy

    def share_after(self, t: int) -> float:
        """Share of the solution's characters that come after its first `t` steps, in [0, 1]."""
        whole = len(self._solution.text)
        return 1 - len(self._solution.prefix(t)) / whole if whole else 0.0

    async def alive(self, t: int) -> bool | None:
        """Whether the first `t` steps still lead to the right answer; None when undecided.

        Raises:
            ValueError: `t` is not in 1 … n - 1.
        """
        prefix = self._prefix(t)
        if t not in self._probed:
            found, _ = await probe(self._sampler, self._problem, prefix, self.root, self._settings)
            self._probed[t] = found
        return self._probed[t].alive

    async def draw(self, t: int, n: int) -> Tally:
        """Counts of the first `n` draws after `t` steps; what they mean is the search's to say.

        Raises:
            ValueError: `t` is not in 1 … n - 1.
        """
        counts = tally(await self._sampler.rollouts(self._problem, self._prefix(t), n))
        self._probed[t] = Probed(counts, None, "open")
        return counts

    def passing(self, t: int) -> Tally:
        """Counts of the other draws from the bare problem whose text begins with these `t` steps.

        They went through the prefix, so they are rollouts from it, and cost nothing. But those of
        one prefix went through all shorter ones too, and those that leave a right path between two
        prefixes are mostly wrong: use one prefix only, chosen without looking at the outcomes.
        """
        start = self._solution.prefix(t)
        found = tally(r for r in self._others if r.completion.text.startswith(start))
        return Tally(found.c, found.k, found.n_truncated, found.n_unknown)

    def reuse(self, t: int) -> Tally:
        """Take `passing` draws into the evidence of prefix `t`; returns them."""
        self._reused[t] = self.passing(t)
        self._probed.setdefault(t, Probed(Tally(), None, "open"))
        return self._reused[t]

    def conclude(self, stop_reason: str, statement: Evidence) -> None:
        """Say why a search that drew with `draw` has ended, and what it found."""
        for t, found in self._probed.items():
            self._probed[t] = Probed(found.tally, found.alive, stop_reason)
        self._statements.append(statement)

    def evidence(self) -> list[Evidence]:
        """One row per probed prefix, in the order of the steps, then a search's statements.

        A row that counts draws reused from the bare problem says how many in its detail.
        """
        rows = []
        for t, found in sorted(self._probed.items()):
            reused, detail = self._reused.get(t), ""
            if reused:
                found = Probed(_sum(found.tally, reused), found.alive, found.stop_reason)
                detail = json.dumps({"reused": {"c": reused.c, "k": reused.k}})
            row = rollout_evidence(self._solution.id, t - 1, self.policy, found)
            rows.append(replace(row, detail=detail))
        return rows + self._statements

    def _prefix(self, t: int) -> Prefix:
        if not 1 <= t < self.n_steps:
            raise ValueError(f"prefix {t} of a solution of {self.n_steps} steps is not probed")
        return prefix_of(self._problem, self._solution, t)


def _without(drawn: Sequence[Rollout], text: str) -> list[Rollout]:
    """All of `drawn` but one with this text."""
    rest = list(drawn)
    for i, rollout in enumerate(rest):
        if rollout.completion.text == text:
            del rest[i]
            break
    return rest


def _sum(a: Tally, b: Tally) -> Tally:
    return Tally(
        a.c + b.c,
        a.k + b.k,
        a.n_truncated + b.n_truncated,
        a.n_unknown + b.n_unknown,
        a.tokens + b.tokens,
    )

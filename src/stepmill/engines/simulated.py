"""An engine without a language model: it writes solutions of word problems and errs as it is told.

For tests, demonstrations and measurements: a search can be judged against the truth, since the
value of every prefix is known, and a client can be timed, since a completion costs microseconds.
It answers the questions of `stepmill.wordproblems` only, continues any beginning of a solution
(`simulated_text` says how), and ignores temperature, top_p and top_k. Every row made with it says
`simulated`.
"""

import asyncio
import math
import random
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal

from pydantic import Field, field_validator

from stepmill.engines.base import ENGINES, EngineKind, EngineStats, Prefix, draw_seed
from stepmill.engines.simulated_text import Habits, Standing, read, write
from stepmill.errors import EngineError
from stepmill.records import Completion, SamplingParams, content_id
from stepmill.settings import Settings
from stepmill.wordproblems import WordProblem, parse

_VERSION = 1
"""Raised when the same settings and draws come to give other texts."""

_CHARACTERS = 4
"""Characters in a token."""

ErrorKind = Literal["arithmetic", "operand", "operation", "skipped"]


class SimulatedSettings(Settings):
    """What the simulated policy can do, and how fast."""

    skill: float = Field(default=0.92, ge=0, le=1)
    """Probability of being right: of each step, or of a whole solution, as `skill_of` says."""
    skill_of: Literal["step", "solution"] = "step"
    """`step`: `skill` is the probability that a step is right while all before it are. `solution`:
    it is the probability that a solution of the bare problem has no wrong step, however long."""
    spread: float = Field(default=0, ge=0)
    """Standard deviation of the problems' skills about `skill`, in log-odds; 0 makes all alike. A
    problem's skill depends on its question alone."""
    self_correction: float = Field(default=0.05, ge=0, le=1)
    """Probability that a completion still ends right when its text has a mistake, be it in the
    prefix or in the completion."""
    errors: dict[ErrorKind, float] = Field(
        default={"arithmetic": 4, "operand": 2, "operation": 1, "skipped": 2}
    )
    """How often each kind of error comes, relative to the others."""
    truncate: float = Field(default=0, ge=0, le=1)
    """Probability that a completion breaks off somewhere, as at a token limit."""
    latency: float = Field(default=0, ge=0)
    """Seconds that every call takes, however many draws it asks for."""
    jitter: float = Field(default=0, ge=0, le=1)
    """Largest deviation of a call's latency, as a share of it; uniform."""

    @field_validator("errors")
    @classmethod
    def _some_error(cls, value: dict[ErrorKind, float]) -> dict[ErrorKind, float]:
        if min(value.values(), default=0) < 0 or not sum(value.values()) > 0:
            raise ValueError("needs at least one kind with a weight above 0, and none below")
        return value


class SimulatedEngine:
    """Writes solutions of word problems; see the module and `Engine`.

    A token is four characters of text, the last one maybe fewer, and one more at the end of a
    completed solution. A draw is decided by the engine's identity, the run's seed, the prefix and
    the draw's index, not by the draws that are asked for with it.
    """

    simulated = True

    def __init__(self, settings: SimulatedSettings) -> None:
        self.settings = settings
        self.identity: dict[str, Any] = {
            "kind": "simulated",
            "simulated": True,
            "version": _VERSION,
            **settings.model_dump(mode="json", exclude={"latency", "jitter"}),
        }
        self.stats = EngineStats()
        self._name = content_id(self.identity)
        self._habits = lru_cache(maxsize=65536)(self._new_habits)

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to free."""

    async def complete(
        self, prefix: Prefix, draws: Sequence[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        """See `Engine.complete`.

        Raises:
            EngineError: the question is not one of `stepmill.wordproblems`.
        """
        standing, habits, key = self._read(prefix), self._habits(prefix.question), prefix.key
        prompt_tokens = _tokens(prefix.question) + _tokens(prefix.text)
        stats = self.stats
        stats.requests += 1
        stats.in_flight += len(draws)
        try:
            # Without a wait, zero seconds let the other coroutines have their turn.
            await asyncio.sleep(self._latency(seed, key, draws))
            completions = [
                self._draw(standing, habits, params, draw_seed(seed, self._name, key, draw), draw)
                for draw in draws
            ]
        finally:
            stats.in_flight -= len(draws)
        stats.completions += len(draws)
        stats.prompt_tokens += prompt_tokens * len(draws)
        stats.generated_tokens += sum(completion.n_tokens for completion in completions)
        return completions

    def value(self, prefix: Prefix) -> float:
        """Probability that a whole completion of `prefix` ends with the right answer, in [0, 1].

        Not for a wrong prefix that has begun to write a number in its answer line.

        Raises:
            EngineError: the question is not one of `stepmill.wordproblems`.
        """
        standing, habits = self._read(prefix), self._habits(prefix.question)
        if standing.answer is not None:
            return float(standing.answer == standing.place.problem.answer)
        still_right = 0.0 if standing.wrong else habits.skill**standing.chances
        return still_right + (1 - still_right) * habits.self_correction

    def _read(self, prefix: Prefix) -> Standing:
        return read(_problem(prefix.question), prefix.text)

    def _new_habits(self, question: str) -> Habits:
        """Habits at one problem, its skill drawn from its question."""
        settings, skill = self.settings, self.settings.skill
        if settings.spread and 0 < skill < 1:
            place = (int(content_id("skill", self._name, question), 16) + 0.5) / 2**64
            log_odds = math.log(skill / (1 - skill))
            log_odds += settings.spread * NormalDist().inv_cdf(place)
            skill = (1 + math.tanh(log_odds / 2)) / 2
        if settings.skill_of == "solution":
            skill **= 1 / len(_problem(question).steps)
        kinds = sorted(settings.errors)  # a mapping's order must not decide
        weights = [settings.errors[kind] for kind in kinds]
        return Habits(skill, settings.self_correction, kinds, weights)

    def _latency(self, seed: int, key: str, draws: Sequence[int]) -> float:
        """Seconds that a call takes, the same whenever it is made again."""
        settings = self.settings
        if not (settings.latency and settings.jitter):
            return settings.latency
        share = random.Random(content_id("latency", seed, self._name, key, *draws[:1])).random()
        return settings.latency * (1 + settings.jitter * (2 * share - 1))

    def _draw(
        self, standing: Standing, habits: Habits, params: SamplingParams, seed: int, draw: int
    ) -> Completion:
        rng = random.Random(seed)
        text = write(standing, rng, habits)
        for stop in params.stop:
            text = text.partition(stop)[0]
        n_tokens, finish_reason = _tokens(text) + 1, "stop"
        if self.settings.truncate and rng.random() < self.settings.truncate:
            n_tokens, finish_reason = rng.randrange(n_tokens), "length"
        if n_tokens > params.max_tokens:
            n_tokens, finish_reason = params.max_tokens, "length"
        if finish_reason == "length":
            text = text[: n_tokens * _CHARACTERS]
        return Completion(text, finish_reason, n_tokens, draw)


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS)


def _problem(question: str) -> WordProblem:
    problem = parse(question)
    if problem is None:
        raise EngineError(
            f"got the question {question[:80]!r}; the simulated engine answers the word problems "
            "of stepmill.wordproblems only. Take problems of kind `generated`, or another engine."
        )
    return problem


ENGINES.register("simulated")(
    EngineKind(SimulatedSettings, SimulatedEngine, operational=frozenset({"latency", "jitter"}))
)

r"""A judge without a language model: it knows the truth of word problems and errs at a known rate.

For tests, demonstrations and measurements. It reads the tagged paragraphs of a judge's question
(templates/first-error-1.jinja in annotators/ is the one it knows), computes the first wrong one,
and replies in the form that is asked for. Every row made with it says `simulated`.
"""

import asyncio
import html
import random
import re
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from stepmill.engines.base import ENGINES, EngineKind, EngineStats, Policy, Prefix, draw_seed
from stepmill.errors import EngineError
from stepmill.records import Completion, SamplingParams, content_id
from stepmill.settings import Settings
from stepmill.wordproblems import first_error, parse

_VERSION = 1
"""Raised when the same settings and draws come to give other replies."""
_CHARACTERS = 4
"""Characters in a token."""
_PROBLEM = re.compile(r"<problem>\n(.*?)\n</problem>", re.DOTALL)
_PARAGRAPH = re.compile(r"<paragraph_(\d+)>\n(.*?)\n</paragraph_\1>", re.DOTALL)


class SimulatedJudgeSettings(Settings):
    """How often the simulated judge errs."""

    error: float = Field(default=0.2, ge=0, le=1)
    """Probability that a vote names another paragraph than the first wrong one: any other with
    equal chance, or none."""
    shared: float = Field(default=0.5, ge=0, le=1)
    """How alike the votes on one solution are: with this probability a vote is the one that all
    share, whether it is right or wrong; otherwise it is drawn for itself. The rate of errors stays
    `error`; 1 makes more votes worthless."""
    off_form: float = Field(default=0, ge=0, le=1)
    """Probability that a reply is not in the form that is asked for, and counts for nothing."""


class SimulatedJudgeEngine:
    """Replies to judges' questions about word problems; see the module and `Engine`."""

    simulated = True

    def __init__(self, settings: SimulatedJudgeSettings) -> None:
        self.settings = settings
        self.identity: dict[str, Any] = {
            "kind": "simulated-judge",
            "simulated": True,
            "version": _VERSION,
            **settings.model_dump(mode="json"),
        }
        self.stats = EngineStats()

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to free."""

    async def complete(
        self, prefix: Prefix, draws: Sequence[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        """See `Engine.complete`.

        Raises:
            EngineError: no judge's question, or not about a word problem.
        """
        truth, n_paragraphs = _read(prefix.question)
        await asyncio.sleep(0)  # the other coroutines have their turn
        policy = Policy(self, params).fingerprint
        common = self._vote(
            random.Random(content_id("shared", seed, policy, prefix.key)), truth, n_paragraphs
        )
        found = []
        for draw in draws:
            rng = random.Random(draw_seed(seed, policy, prefix.key, draw))
            shares = rng.random() < self.settings.shared
            vote = common if shares else self._vote(rng, truth, n_paragraphs)
            text = (
                "I cannot say."
                if rng.random() < self.settings.off_form
                else _reply(vote, n_paragraphs)
            )
            found.append(_completion(text, draw, params.max_tokens))
        self._count(prefix, found)
        return found

    def _vote(self, rng: random.Random, truth: int, n_paragraphs: int) -> int:
        if rng.random() >= self.settings.error:
            return truth
        return rng.choice([i for i in range(-1, n_paragraphs) if i != truth])

    def _count(self, prefix: Prefix, found: Sequence[Completion]) -> None:
        self.stats.requests += 1
        self.stats.completions += len(found)
        self.stats.prompt_tokens += -(-len(prefix.question) // _CHARACTERS) * len(found)
        self.stats.generated_tokens += sum(c.n_tokens for c in found)


def _read(question: str) -> tuple[int, int]:
    """Index of the first wrong paragraph (-1: none), and the number of paragraphs."""
    problem = _PROBLEM.search(question)
    paragraphs = [html.unescape(text) for _, text in _PARAGRAPH.findall(question)]
    told = html.unescape(problem[1]) if problem else ""
    if not paragraphs or parse(told) is None:
        raise EngineError(
            f"got {question[:80]!r}; the simulated judge answers judges' questions about the word"
            " problems of stepmill.wordproblems only. Take another engine for the judge."
        )
    lines = [line for text in paragraphs for line in text.split("\n") if line.strip()]
    error = first_error(told, "\n".join(lines))
    if error is None or error < 0:
        return -1, len(paragraphs)
    after = 0
    for i, text in enumerate(paragraphs):
        after += sum(bool(line.strip()) for line in text.split("\n"))
        if error < after:
            return i, len(paragraphs)
    return len(paragraphs) - 1, len(paragraphs)  # it ends before its answer


def _reply(vote: int, n_paragraphs: int) -> str:
    last = n_paragraphs - 1 if vote == -1 else vote
    lines = [f"Paragraph {i}: {'wrong' if i == vote else 'correct'}" for i in range(last + 1)]
    return "\n".join([*lines, f"\\boxed{{{vote}}}"])


def _completion(text: str, draw: int, max_tokens: int) -> Completion:
    n_tokens = -(-len(text) // _CHARACTERS) + 1
    if n_tokens > max_tokens:
        return Completion(text[: max_tokens * _CHARACTERS], "length", max_tokens, draw)
    return Completion(text, "stop", n_tokens, draw)


ENGINES.register("simulated-judge")(EngineKind(SimulatedJudgeSettings, SimulatedJudgeEngine))

"""A sampler whose every outcome is written down beforehand; a letter is a step."""

import random
from collections.abc import Callable, Mapping, Sequence

from stepmill.annotators.rollouts import Rollout
from stepmill.engines.base import Prefix
from stepmill.records import (
    Completion,
    Outcome,
    Problem,
    Solution,
    Step,
    Verdict,
    problem_id,
    solution_id,
)

QUESTION = "Which letters?"
PROBLEM = Problem(problem_id(QUESTION, "z"), QUESTION, "z", "made-up")

OUTCOMES = {
    "+": (Verdict.CORRECT, "stop"),
    "-": (Verdict.INCORRECT, "stop"),
    "?": (Verdict.UNKNOWN, "stop"),
    "t": (Verdict.UNKNOWN, "length"),
}


def letters(text: str) -> list[Step]:
    """A segmenter: each letter is a step, so the prefix of t steps is the first t letters."""
    return [Step(i, letter, i, i + 1) for i, letter in enumerate(text)]


def rollout(sign: str, text: str, draw: int = 0, n_tokens: int = 10) -> Rollout:
    """A rollout that ends right (+), wrong (-), unknown (?) or truncated (t)."""
    verdict, finish_reason = OUTCOMES[sign]
    reason = {"?": "no-answer", "t": "truncated"}.get(sign, "number")
    return Rollout(
        Completion(text, finish_reason, n_tokens, draw),
        Outcome(verdict, None if verdict is Verdict.UNKNOWN else text[-1:], reason),
    )


def solution(text: str, sign: str = "-", policy: str = "solver") -> Solution:
    """A solution with a step per letter."""
    verdict, finish_reason = OUTCOMES[sign]
    return Solution(
        id=solution_id(PROBLEM.id, text),
        problem_id=PROBLEM.id,
        text=text,
        steps=tuple(letters(text)),
        outcome=Outcome(verdict, reason="number"),
        finish_reason=finish_reason,
        n_tokens=len(text),
        policy=policy,
        token_ids=tuple(map(ord, text)),
    )


Script = str | Sequence[str]
"""The draws at one prefix: a string of signs, or a list of `sign text` or `sign text tokens`."""


class ScriptedSampler:
    """Gives the rollouts that a script says, by the text of the prefix.

    The answers are known because nothing is drawn: draw i at a prefix is entry i of the script of
    that prefix, which starts anew when it ends. A prefix that has no script raises, so a test also
    shows where a search looked.
    """

    def __init__(
        self,
        script: Mapping[str, Script] | Callable[[str], Script],
        policy: str = "solver",
    ) -> None:
        self.policy = policy
        self.asked: list[tuple[str, int]] = []
        """Prefix text and number of draws of each request, in order."""
        self.script = script if callable(script) else script.__getitem__

    @property
    def prefixes(self) -> list[str]:
        """Prefixes that were asked for, each once, in order."""
        return list(dict.fromkeys(text for text, _ in self.asked))

    async def rollouts(self, problem: Problem, prefix: Prefix, n: int) -> Sequence[Rollout]:
        assert (problem, prefix.question) == (PROBLEM, QUESTION)
        self.asked.append((prefix.text, n))
        entries = self.script(prefix.text)
        return [self._rollout(entries[i % len(entries)], i) for i in range(n)]

    def _rollout(self, entry: str, draw: int) -> Rollout:
        match entry.split():
            case [sign]:
                return rollout(sign, f"<{draw}>", draw)
            case [sign, text]:
                return rollout(sign, text, draw)
            case [sign, text, tokens]:
                return rollout(sign, text, draw, int(tokens))
        raise ValueError(entry)


def chance_script(seed: int, signs: str, lengths: range, alphabet: str) -> Callable[[str], Script]:
    """Scripts made up by a generator that the seed and the prefix determine."""

    def script(prefix: str) -> Script:
        source = random.Random(f"{seed} {prefix}")
        return [
            f"{source.choice(signs)} {''.join(source.choices(alphabet, k=source.choice(lengths)))}"
            f" {source.randint(1, 900)}"
            for _ in range(24)
        ]

    return script

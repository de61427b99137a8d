"""The records that travel through a run, and how their ids are made.

Hot records are frozen, slotted dataclasses of plain values. An id is a hash of what defines the
thing, so a rerun finds it again; nothing here is joined by position. Step indices start at 0.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What is known of an answer or a step. A failure to find out is `unknown`, never wrong."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    UNKNOWN = "unknown"


class LabelKind(StrEnum):
    """What a label speaks of; kinds are never mixed in one column."""

    VALIDITY = "validity"
    """Is the step right?"""
    VALUE = "value"
    """How likely does a policy still finish right?"""
    PROGRESS = "progress"
    """Did the step help?"""


def content_id(*parts: object) -> str:
    """Hash of `parts`, 16 hex digits; equal parts give equal ids on every machine.

    Parts are serialised as canonical JSON, so `("a", "bc")` and `("ab", "c")` differ.
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Problem:
    """A question with, usually, a reference answer."""

    id: str
    question: str
    answer: str | None
    source: str
    domain: str = ""
    license: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
    """The source's other columns, as text."""


def problem_id(question: str, answer: str | None) -> str:
    """Id of a problem: the same question with the same reference is the same problem."""
    return content_id("problem", question, answer)


@dataclass(frozen=True, slots=True)
class Step:
    """One unit of reasoning: the half-open character span [start, end) of its solution."""

    index: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Verdict on a final answer, with the reason (never empty when unknown)."""

    verdict: Verdict
    answer: str | None = None
    """The final answer as it was extracted; None when none was found."""
    reason: str = ""
    """Which comparison decided, or why nothing did: `number`, `truncated`, `time-out`, …"""


@dataclass(frozen=True, slots=True)
class Completion:
    """One draw from a policy: the text after a prefix, to a stop or to the token limit."""

    text: str
    finish_reason: str
    """`stop`, `length` (truncated) or `abort`."""
    n_tokens: int
    """Generated tokens, the end-of-text token included where the engine counts it."""
    draw: int = 0
    """Index of the draw at its prefix, from 0; with the prefix it is the completion's identity."""
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    """Natural-log probability of each generated token, in step with `token_ids`."""
    cached_tokens: int | None = None
    """Prompt tokens that the engine took from its prefix cache; None when it does not say."""
    prompt_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Solution:
    """One sampled answer text, cut into steps whose texts join to the whole."""

    id: str
    problem_id: str
    text: str
    steps: tuple[Step, ...]
    outcome: Outcome
    finish_reason: str
    n_tokens: int
    policy: str
    """Fingerprint of the policy that wrote it."""
    origin: str = "root"
    """`root`: drawn from the bare problem; `tree`: a rollout met during a search;
    `given`: came with the input."""
    token_ids: tuple[int, ...] | None = None

    def prefix(self, n_steps: int) -> str:
        """Text of the first `n_steps` steps (0 <= n_steps <= number of steps)."""
        return self.text[: self.steps[n_steps - 1].end] if n_steps else ""


def solution_id(problem: str, text: str) -> str:
    """Id of a solution: two draws with the same text are the same solution."""
    return content_id("solution", problem, text)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One statement about one step, from one channel. Labels are pure functions of these."""

    solution_id: str
    step: int | None
    """Index of the step; -1 speaks of the bare problem, None of the whole solution.
    For rollouts, `step` is the last step of the prefix they were drawn from."""
    channel: str
    """`rollouts`, `outcome`, a judge, a verifier or a scorer."""
    policy: str
    """Fingerprint of the policy, or name and version of the checker."""
    verdict: Verdict | None = None
    value: float | None = None
    c: int | None = None
    """Rollouts that ended right."""
    k: int | None = None
    """Rollouts with a known outcome; c <= k."""
    n_truncated: int = 0
    """Rollouts cut by the token limit; they are not in k."""
    n_unknown: int = 0
    """Rollouts whose outcome stayed unknown for another reason; they are not in k."""
    weight: float = 1.0
    detail: str = ""
    """Free-form evidence as a JSON object, or empty."""
    cost_tokens: int = 0
    """Tokens generated for this statement."""
    stop_reason: str = ""
    """Why no more draws were spent here: `fixed`, `success`, `hopeless`, `budget`, …"""


@dataclass(frozen=True, slots=True)
class StepLabel:
    """What a label rule says of one step."""

    step: int
    kind: LabelKind
    hard: int | None
    """1 good, 0 bad, None unknown or masked."""
    soft: float | None
    """In [0, 1], or None."""
    confidence: float | None
    source: str
    """`rollout`, `outcome`, `inferred`, `judge`, `tool`, `formal` or `human`."""
    reason: str
    """Why there is no hard label, when there is none."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How a policy draws; part of the policy's fingerprint."""

    temperature: float = 0.7
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int = 0
    """0 keeps every token."""
    max_tokens: int = 512
    """Limit of one completion; a completion that reaches it is truncated, its outcome unknown."""
    stop: tuple[str, ...] = ()
    """Texts that end a completion; they are not part of it."""
    logprobs: bool = False
    """Keep the log-probability of every generated token."""
    guide: str = ""
    """Regular expression that a whole completion must match; empty: none. vLLM keeps to it, in
    process and behind a server; other engines pass over it."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for hashing and for provenance."""
        return {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "max_tokens": self.max_tokens,
            "stop": list(self.stop),
            "logprobs": self.logprobs,
            **({"guide": self.guide} if self.guide else {}),
        }

"""The contract between a run and whatever runs its policy.

An engine continues text. It knows nothing of steps, labels, searches or answers; a run knows
nothing of GPUs, HTTP or batches. One method matters: `complete` takes a prefix and the indices of
the draws wanted from it, and returns one completion per index.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from stepmill.records import Completion, SamplingParams, content_id
from stepmill.registry import Registry
from stepmill.settings import Settings


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a draw continues: a problem and the beginning of a solution, to the letter.

    The prompt sent is `prompt(question) + text`, nothing stripped and nothing added.
    """

    question: str
    text: str = ""
    """The first steps of a solution; empty for the bare problem."""
    token_ids: tuple[int, ...] | None = None
    """Tokens of a sampled text that begins with `text`, where they are known. An engine that takes
    ids sends the leading tokens that decode to exactly `text`, when there are such, so that the
    model sees what it once wrote; otherwise it tokenises `text`."""

    @property
    def key(self) -> str:
        """Identity of the prefix in the ledger; token ids are a hint and not part of it."""
        return content_id("prefix", self.question, self.text)


@dataclass(slots=True)
class EngineStats:
    """Counters since the engine opened. Rates are left to the reader."""

    requests: int = 0
    completions: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    """Prompt tokens served from the prefix cache."""
    generated_tokens: int = 0
    retries: int = 0
    in_flight: int = 0
    """Draws asked for and not answered yet."""
    extra: dict[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """Runs one model. Safe for many concurrent `complete` calls on one event loop."""

    identity: dict[str, Any]
    """Plain values that decide what the engine would write: kind, model, revision or weight hash,
    prompt template hash. Goes into the policy's fingerprint and into provenance; no secrets."""
    stats: EngineStats
    simulated: bool
    """True when no language model is behind it; every row then says so."""

    async def start(self) -> None:
        """Load what is needed. Raises UserError when the model or server cannot be used."""

    async def complete(
        self, prefix: Prefix, draws: Sequence[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        """Draw `len(draws)` completions of `prefix`; result i carries `draw == draws[i]`.

        Args:
            prefix: what to continue.
            draws: indices of the wanted draws, increasing. Asking for an index again is the
                caller's mistake: the ledger asks each once.
            params: how to draw.
            seed: seed of the run; an engine derives each draw's own from it with `draw_seed`.

        Raises:
            EngineError: the request failed for good (retries included).
            EngineDead: so will all others.
        """
        ...

    async def close(self) -> None:
        """Free everything; a closed engine is not used again."""


def draw_seed(seed: int, policy: str, prefix_key: str, draw: int) -> int:
    """Seed of one draw, in [0, 2^31): a hash, so that no two draws share one by accident."""
    return int(content_id("draw", seed, policy, prefix_key, draw), 16) & 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Policy:
    """A model with its sampling settings: what writes solutions and rollouts."""

    engine: Engine
    params: SamplingParams
    seed: int = 0

    @property
    def fingerprint(self) -> str:
        """Equal fingerprints mean equal distributions of completions.

        The run's seed is not part of it: draws of another run are draws of the same policy.
        """
        return content_id("policy", self.engine.identity, self.params.as_dict())


@dataclass(frozen=True, slots=True)
class EngineKind:
    """One entry of the registry: the settings a configuration gives, and how they open an engine.

    `open` only builds the object; `Engine.start` does what takes time.
    """

    settings: type[Settings]
    open: Callable[[Any], Engine]
    operational: frozenset[str] = frozenset()
    """Settings that change how fast or where it works and not what it writes; a run that is begun
    may change them."""


ENGINES: Registry[EngineKind] = Registry("engine")
"""Kinds of engine by the `kind` of a configuration; modules of this package add themselves."""

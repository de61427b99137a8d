"""Kind `replay`: answers from recorded completions, with no model.

What a run drew lies in its `rollouts/` folder; this engine gives the same draws again, so that a
run can be repeated, tested or shown anywhere. The columns of a recording are in
replay_recording.py.
"""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepmill.engines.base import ENGINES, EngineKind, EngineStats, Prefix
from stepmill.errors import EngineDead, UserError
from stepmill.records import Completion, SamplingParams
from stepmill.settings import Settings

if TYPE_CHECKING:
    from stepmill.engines.replay_recording import Recording


class ReplaySettings(Settings):
    """Recorded completions in place of a model."""

    path: Path
    """A run directory, a folder of Parquet files, or one Parquet file."""
    policy: str | None = None
    """Fingerprint of the recorded policy to replay; needed when several were recorded."""
    simulated: bool = False
    """Say so when no language model wrote the recording. A run directory says it by itself."""


class ReplayEngine:
    """Gives recorded draws again; draw i at a prefix is the recorded draw i."""

    def __init__(self, settings: ReplaySettings) -> None:
        self.identity: dict[str, Any] = {"kind": "replay"}
        self.stats = EngineStats()
        self.simulated = settings.simulated
        self._settings = settings
        self._recording: Recording | None = None

    async def start(self) -> None:
        """Read the recording.

        Raises:
            UserError: there is none, it lacks columns, or several policies are in it.
        """
        self._recording = recording = await asyncio.to_thread(self._read)
        self.identity |= {"policy": recording.policy, "recording": recording.digest}
        self.simulated = self.simulated or _says_simulated(self._settings.path)

    def _read(self) -> "Recording":
        from stepmill.engines.replay_recording import Recording

        return Recording(_files(self._settings.path), self._settings.policy)

    async def complete(
        self, prefix: Prefix, draws: Sequence[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        """See `Engine.complete`; `params` and `seed` were settled when the draws were recorded.

        Raises:
            EngineError: a draw was not recorded; says how many were.
        """
        if self._recording is None:
            raise EngineDead("the engine has not been started, or was closed")
        found = [self._recording.draw(prefix, draw) for draw in draws]
        self.stats.requests += 1
        self.stats.completions += len(found)
        for completion in found:
            self.stats.prompt_tokens += completion.prompt_tokens
            self.stats.cached_prompt_tokens += completion.cached_tokens or 0
            self.stats.generated_tokens += completion.n_tokens
        return found

    async def close(self) -> None:
        """Forget the recording."""
        self._recording = None


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    folder = path / "rollouts" if (path / "rollouts").is_dir() else path
    files = sorted(folder.glob("*.parquet"))
    if not files:
        what = "holds no Parquet files" if folder.is_dir() else "does not exist"
        raise UserError(
            f"recording {folder} {what}; give `path` a run directory with finished shards, a folder"
            " of Parquet files, or one such file"
        )
    return files


def _says_simulated(path: Path) -> bool:
    """Whether the run that `path` is, or lies in, noted that no language model wrote it."""
    for folder in (path, *path.absolute().parents[:2]):
        facts = folder / "policy.json"
        if facts.is_file():
            return bool(json.loads(facts.read_text("utf-8")).get("simulated"))
    return False


ENGINES.register("replay")(EngineKind(ReplaySettings, ReplayEngine))

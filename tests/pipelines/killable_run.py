"""A run in a process of its own, made to be killed: python killable_run.py CONFIG OUT LOG [WHERE].

It notes every call in LOG: `+ KEY DRAWS` when the engine is asked and `- KEY DRAWS` when the answer
is journalled, so that a test can count what was paid for and what was in flight when the process
died. WHERE makes it kill itself: `before-manifest` or `after-manifest` of the
first shard.
"""

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stepmill.engines.base import ENGINES, EngineKind, Prefix
from stepmill.engines.kinds import load_engine_kinds
from stepmill.engines.simulated import SimulatedEngine, SimulatedSettings
from stepmill.pipelines import workshop
from stepmill.pipelines.config import load_config
from stepmill.pipelines.finish import finish
from stepmill.pipelines.ledger import Ledger
from stepmill.pipelines.run import prepare, run_here
from stepmill.pipelines.rundir import RunDir
from stepmill.pipelines.workshop import close_workshop
from stepmill.records import Completion, SamplingParams


class NotedEngine(SimulatedEngine):
    """The simulated engine with a note of every call."""

    log: int = -1

    async def complete(
        self, prefix: Prefix, draws: Sequence[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        note("+", prefix, draws)
        return await super().complete(prefix, draws, params, seed)


class NotedLedger(Ledger):
    """The ledger with a note of what is safe."""

    def add(
        self, policy: str, problem_id: str, prefix: Prefix, completions: Iterable[Completion]
    ) -> None:
        completions = list(completions)
        super().add(policy, problem_id, prefix, completions)
        note("-", prefix, [c.draw for c in completions])


def note(sign: str, prefix: Prefix, draws: Sequence[int]) -> None:
    os.write(NotedEngine.log, f"{sign} {prefix.key} {','.join(map(str, draws))}\n".encode())


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(config_path: str, out: str, log: str, where: str = "") -> None:
    load_engine_kinds()
    NotedEngine.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    ENGINES.register("noted")(EngineKind(SimulatedSettings, NotedEngine))
    workshop.Ledger = NotedLedger  # type: ignore[attr-defined]
    if where:
        write_json = RunDir.write_json

        def deadly(self: RunDir, path: Path, value: Any) -> None:
            if path.parent.name == "manifest":
                if where == "after-manifest":
                    write_json(self, path, value)
                die()
            write_json(self, path, value)

        RunDir.write_json = deadly  # type: ignore[method-assign]
    config = load_config(config_path)
    prepared = prepare(config, out)
    run_here(prepared, config.run.shards_at_once)
    finish(out)
    close_workshop(out)


if __name__ == "__main__":
    main(*sys.argv[1:])

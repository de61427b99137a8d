"""What one process needs to work on shards of a run: engines, checker, the event loop.

Engines belong to one event loop, and shards come from threads (Prefect, Dask, a plain pool). So a
process has one workshop per run directory, with its own loop in a thread of its own; `work_on`
hands it a shard and waits. The workshop is built on first use and never travels between processes:
a shard task carries only the run directory and the shard's index.
"""

import asyncio
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from stepmill.annotators.annotate import AnnotatedProblem, Annotator
from stepmill.annotators.changepoint import ChangePointSettings
from stepmill.annotators.changepoint_calibration import Calibration
from stepmill.annotators.judge import Judge, NoAnswerCheck
from stepmill.annotators.judge_prompt import load_prompt
from stepmill.engines.base import Engine, Policy
from stepmill.pipelines.config import Config, PolicySettings, check_config
from stepmill.pipelines.ledger import Ledger
from stepmill.pipelines.parts import read_problems, read_rollouts
from stepmill.pipelines.rundir import RunDir, disk_full, read_run_yaml
from stepmill.pipelines.sampling import InFlight, LedgerSampler, Spending, StopFlag
from stepmill.pipelines.segmenters import build_segmenter
from stepmill.pipelines.shard import (
    Shard,
    annotate_problems,
    problems_key,
    write_shard,
)
from stepmill.verifiers.checkers import build_checker

T = TypeVar("T")


@dataclass(slots=True)
class Progress:
    """Counters of a process while it works; read by whoever shows them."""

    problems_done: int = 0
    solutions: int = 0
    evidence: int = 0
    completions: int = 0
    correct: int = 0
    """Right draws among the known ones from bare problems."""
    known: int = 0
    spendings: list[Spending] = field(default_factory=list)

    def add(self, found: AnnotatedProblem | None) -> None:
        """Count a finished problem."""
        self.problems_done += 1
        if found is not None:
            self.solutions += len(found.solutions)
            self.evidence += len(found.evidence)
            self.correct += found.root.c
            self.known += found.root.k

    @property
    def generated_tokens(self) -> int:
        """Tokens generated in this process."""
        return sum(s.generated_tokens for s in self.spendings)

    @property
    def rollouts(self) -> int:
        """Completions drawn in this process."""
        return sum(s.completions for s in self.spendings)


class Workshop:
    """Engines, checker and loop of one process, for one run.

    Args:
        root: the run directory, claimed by `prepare`.
    """

    def __init__(self, root: Path) -> None:
        self.rundir = RunDir(root)
        resolved = read_run_yaml(root)
        self.config: Config = check_config(resolved["config"], str(self.rundir.config_file))
        self._reuse = [Path(p) for p in resolved.get("reuse", [])]
        self.stop = StopFlag()
        self.progress = Progress()
        self.in_flight = InFlight(self.config.run.in_flight)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="stepmill-loop", daemon=True
        )
        self._engines: dict[str, Engine] = {}
        self._checker = build_checker(self.config.checker)
        self._segment = build_segmenter(self.config.segmenter)

    def start(self) -> None:
        """Load the engines.

        Raises:
            UserError: a model or server cannot be used.
        """
        self._thread.start()
        opened: list[tuple[PolicySettings, Engine]] = []
        for role, settings in self._roles().items():
            same = (engine for other, engine in opened if other.engine == settings.engine)
            self._engines[role] = next(same, None) or settings.open_engine()
            opened.append((settings, self._engines[role]))
        for engine in self._distinct_engines():
            self._run(engine.start())
        self.rundir.claim_policy(self._facts())

    def _roles(self) -> dict[str, PolicySettings]:
        """Settings of the policies that the configuration names, by role."""
        config = self.config
        named = {"policy": config.policy, "completer": config.completer, "judge": config.judge}
        return {role: settings for role, settings in named.items() if settings is not None}

    def _facts(self) -> dict[str, Any]:
        policies, judge = self.policies(), self.config.judge
        template = {} if judge is None else {"judge_prompt": load_prompt(judge.template).digest}
        return {
            "policies": {
                role: {
                    "fingerprint": policy.fingerprint,
                    "engine": policy.engine.identity,
                    "sampling": policy.params.as_dict(),
                }
                for role, policy in policies.items()
            },
            "checker": self._checker.version,
            **template,
            "simulated": any(engine.simulated for engine in self._distinct_engines()),
        }

    def _distinct_engines(self) -> list[Engine]:
        return list({id(e): e for e in self._engines.values()}.values())

    def policies(self) -> dict[str, Policy]:
        """The policies by their role: `policy`, `completer` (always) and `judge` (if any)."""
        seed = self.config.run.seed
        found = {
            role: settings.policy(self._engines[role], seed)
            for role, settings in self._roles().items()
        }
        return {"policy": found["policy"], "completer": found["policy"], **found}

    def work_on(self, index: int) -> dict[str, Any]:
        """Do one shard, or find it done; returns its manifest.

        Raises:
            UserError: the disk is full.
            Stopped: the run was asked to stop; the shard continues from its journal.
            EngineError: the engine failed; likewise.
        """
        problems = read_problems(self.rundir.part("problems", index))
        shard = Shard(index, tuple(problems))
        done = self.rundir.read_manifest(index)
        if done is not None and done["problems_key"] == problems_key(shard.problems):
            return done
        try:
            return self._run(self._annotate(shard))
        except OSError as error:
            full = disk_full(error, self.rundir.root)
            raise (full or error) from None

    async def _annotate(self, shard: Shard) -> dict[str, Any]:
        began, spending, stop = time.time(), Spending(), StopFlag(self.stop)
        self.progress.spendings.append(spending)
        ledger = await asyncio.to_thread(self._open_ledger, shard)
        try:
            policies = self.policies()
            samplers = {
                role: LedgerSampler(
                    policy,
                    ledger,
                    NoAnswerCheck() if role == "judge" else self._checker,
                    self.in_flight,
                    stop,
                    spending,
                )
                for role, policy in policies.items()
            }
            if policies["completer"] is policies["policy"]:
                samplers["completer"] = samplers["policy"]
            annotator = Annotator(
                samplers["policy"],
                samplers["completer"],
                self._segment,
                self._checker.version,
                self.config.solutions,
                self.config.search,
                self._judge(samplers),
            )
            result = await annotate_problems(
                annotator,
                shard.problems,
                self.config.run.active_problems,
                stop,
                self.progress.add,
            )
            manifest = await asyncio.to_thread(
                write_shard, self.rundir, shard, result, ledger, spending, began
            )
        finally:
            ledger.close()
        self.rundir.journal(shard.index).unlink(missing_ok=True)
        return manifest

    def _calibration(self, shard: Shard) -> Calibration:
        search = self.config.search
        n = search.calibration if isinstance(search, ChangePointSettings) else 0
        return Calibration([problem.id for problem in shard.problems[:n]])

    def _judge(self, samplers: dict[str, LedgerSampler]) -> Judge | None:
        settings = self.config.judge
        if settings is None:
            return None
        prompt = load_prompt(settings.template)
        return Judge(samplers["judge"], settings, prompt, self.config.run.seed)

    def _open_ledger(self, shard: Shard) -> Ledger:
        ledger = Ledger(self.rundir.journal(shard.index))
        wanted = {problem.id for problem in shard.problems}
        own = self.rundir.part("rollouts", shard.index)
        if own.exists():
            ledger.add_stored(read_rollouts(own, wanted))
        for other in self._reuse:
            facts = RunDir(other).read_policy()
            same_checker = facts is not None and facts["checker"] == self._checker.version
            for path in sorted((other / "rollouts").glob("part-*.parquet")):
                rows = read_rollouts(path, wanted)
                # Another checker's verdicts are not ours: those completions are checked again.
                ledger.add_stored(
                    rows if same_checker else [replace(row, outcome=None) for row in rows]
                )
        return ledger

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the workshop's loop and wait for it, in any other thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Close engines and checker, end the loop."""
        if self._thread.is_alive():
            for engine in self._distinct_engines():
                with suppress(asyncio.CancelledError):
                    self._run(engine.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._checker.close()
        self._loop.close()


_workshops: dict[Path, Workshop] = {}
_lock = threading.Lock()
_stop_requests: set[Path] = set()
"""Run directories that were asked to stop, maybe while their workshop was loading."""


def workshop(root: Path | str) -> Workshop:
    """This process's workshop for a run directory, built and started on first use."""
    key = Path(root).resolve()
    with _lock:  # two threads must not load a model twice
        if key not in _workshops:
            found = Workshop(key)
            try:
                found.start()
            except BaseException:
                found.close()
                raise
            _workshops[key] = found
            if key in _stop_requests:
                found.stop.reason = "interrupted"
        return _workshops[key]


def open_workshop(root: Path | str) -> Workshop | None:
    """The workshop of a run directory when it is open; never waits for one that loads."""
    return _workshops.get(Path(root).resolve())


def request_stop(root: Path | str, reason: str) -> None:
    """Ask a run of this process to end: nothing new is sent, what is in flight is stored."""
    _stop_requests.add(Path(root).resolve())
    found = open_workshop(root)
    if found is not None:
        found.stop.reason = reason


def close_workshop(root: Path | str) -> None:
    """Close the workshop of a run directory, when there is one."""
    key = Path(root).resolve()
    with _lock:
        _stop_requests.discard(key)
        found = _workshops.pop(key, None)
    if found is not None:
        found.close()


def annotate_shard(root: str, index: int) -> dict[str, Any]:
    """Do one shard of a prepared run in this process: what a Prefect or Dask task calls."""
    return workshop(root).work_on(index)

"""A run from end to end: prepare, annotate the shards, finish.

`prepare` fixes what belongs to which shard, `annotate_shard` (pipelines/workshop.py) does one, and
`finish` turns the evidence into the data set, its card and its figures. A Prefect flow calls the
same three; `run_here` calls them with a plain thread pool.
"""

import datetime as dt
import platform
from collections.abc import Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import stepmill
from stepmill.errors import UserError
from stepmill.pipelines.config import Config
from stepmill.pipelines.parquet import write_table_atomic
from stepmill.pipelines.parts import read_problems
from stepmill.pipelines.rundir import RunDir, read_run_yaml
from stepmill.pipelines.sources import ProblemSet, load_problems
from stepmill.pipelines.tables import problems_table
from stepmill.pipelines.workshop import annotate_shard
from stepmill.records import Problem

PROVENANCE_PACKAGES = ("datasets", "math-verify", "polars", "prefect", "pyarrow", "torch", "vllm")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready to be worked on."""

    root: Path
    name: str
    shards: tuple[int, ...]
    """Index of every shard."""
    todo: tuple[int, ...]
    """Shards that are not finished yet."""
    n_problems: int
    n_done: int
    """Problems of finished shards."""
    set_aside: dict[str, int]
    """Records of the source that are not run, by reason."""


def prepare(config: Config, root: Path | str, reuse: Iterable[Path | str] = ()) -> Prepared:
    """Read the problems, claim the run directory, and write each shard's problems.

    Problems that a shard holds already stay there; new ones go to new shards. So a question file
    that grew costs only its new questions.

    Args:
        config: the run.
        root: the run directory.
        reuse: run directories whose stored completions may be used.

    Raises:
        UserError: bad source, or a directory that belongs to something else.
    """
    rundir = RunDir(root)
    others = [Path(p).resolve() for p in reuse]
    for other in others:
        read_run_yaml(other)
    problems = load_problems(config.problems)
    if not problems.problems:
        raise UserError(_nothing_to_run(problems))
    rundir.create()
    with rundir.exclusive():
        return _plan(config, rundir, others, problems)


def _plan(config: Config, rundir: RunDir, reuse: list[Path], problems: ProblemSet) -> Prepared:
    """Claim the directory and divide the problems that it does not hold yet into shards."""
    rundir.claim(
        config.fingerprint,
        {
            "name": config.name,
            "gather": config.gather_part(),
            "config": config.model_dump(mode="json"),
            "reuse": [str(p) for p in reuse],
            "versions": versions(),
            "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        },
    )
    held = _held_problems(rundir)
    _require_superset(rundir, held, problems.problems)
    known = {p for ids in held.values() for p in ids}
    fresh = [p for p in problems.problems if p.id not in known]
    size = config.run.shard_size
    for start in range(0, len(fresh), size):
        index = len(held)
        part = fresh[start : start + size]
        write_table_atomic(rundir.part("problems", index), problems_table(part))
        held[index] = [p.id for p in part]
    rundir.write_json(
        rundir.root / "set_aside.json",
        [{"record": s.record, "reason": s.reason, "detail": s.detail} for s in problems.set_aside],
    )
    done = {i for i in held if rundir.read_manifest(i) is not None}
    for index in done:
        rundir.journal(index).unlink(missing_ok=True)  # killed between the manifest and this
    return Prepared(
        root=rundir.root,
        name=config.name,
        shards=tuple(held),
        todo=tuple(i for i in held if i not in done),
        n_problems=sum(map(len, held.values())),
        n_done=sum(len(held[i]) for i in done),
        set_aside=problems.counts(),
    )


def _held_problems(rundir: RunDir) -> dict[int, list[str]]:
    """Problem ids of each planned shard, by index."""
    held: dict[int, list[str]] = {}
    while (path := rundir.part("problems", len(held))).exists():
        held[len(held)] = [p.id for p in read_problems(path)]
    return held


def _require_superset(rundir: RunDir, held: dict[int, list[str]], problems: list[Problem]) -> None:
    wanted = {p.id for p in problems}
    gone = sum(p not in wanted for ids in held.values() for p in ids)
    if gone:
        raise UserError(
            f"{rundir.root} holds {gone} problems that the configuration no longer has (another"
            " source or a smaller --limit?); choose another --out, and add"
            f" --reuse {rundir.root} to pay nothing twice"
        )


def _nothing_to_run(problems: ProblemSet) -> str:
    reasons = ", ".join(f"{n} {reason}" for reason, n in problems.counts().items())
    return f"the source has no problem to run{f' ({reasons})' if reasons else ''}"


def versions() -> dict[str, str]:
    """Versions of what makes the result, without loading any of it."""
    found = {"stepmill": stepmill.__version__, "python": platform.python_version()}
    for package in PROVENANCE_PACKAGES:
        for name in (package, f"{package}-cpu"):
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                continue
    return found


def run_here(prepared: Prepared, shards_at_once: int) -> None:
    """Work on every unfinished shard in this process, with no scheduler.

    Args:
        prepared: the run.
        shards_at_once: shards in work at a time.

    Raises:
        StepmillError: what ended the first shard that failed; the others end in order.
    """
    with (
        RunDir(prepared.root).exclusive(),
        ThreadPoolExecutor(shards_at_once, thread_name_prefix="stepmill-shard") as pool,
    ):
        futures = [pool.submit(annotate_shard, str(prepared.root), i) for i in prepared.todo]
        _, waiting = wait(futures, return_when=FIRST_EXCEPTION)
        for future in waiting:
            future.cancel()
    for future in futures:
        if not future.cancelled():
            future.result()

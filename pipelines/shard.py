"""One shard: many problems at once on one event loop, into four table parts and a manifest.

The order in which work finishes leaves no trace: rows are written in the order of the problems.
A problem that the engine refuses for good (a prompt too long, say) is set aside with the reason;
an engine that is gone ends the shard, which continues from its journal when it is run again.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from stepmill.annotators.annotate import AnnotatedProblem, Annotator
from stepmill.annotators.judge import JUDGE
from stepmill.errors import EngineDead, EngineError, Stopped
from stepmill.pipelines import schema, tables
from stepmill.pipelines.ledger import Ledger, LedgerRow
from stepmill.pipelines.parquet import write_table_atomic
from stepmill.pipelines.rundir import RunDir
from stepmill.pipelines.sampling import Spending, StopFlag
from stepmill.records import Problem, Verdict, content_id


@dataclass(frozen=True, slots=True)
class Shard:
    """A fixed set of problems; it never changes once it is planned."""

    index: int
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class ShardResult:
    """What came of the problems of a shard."""

    annotated: dict[str, AnnotatedProblem]
    refused: dict[str, str]
    """Problems that the engine refused, with its reason."""


async def annotate_problems(
    annotator: Annotator,
    problems: Sequence[Problem],
    active: int,
    stop: StopFlag,
    finished: Callable[[AnnotatedProblem | None], None],
) -> ShardResult:
    """Annotate `problems`, at most `active` at a time, the first ones first.

    Args:
        annotator: does one problem.
        problems: what to do.
        active: problems in work at a time.
        stop: set here when one problem fails, so that the others send nothing more.
        finished: told of each problem as it ends (None: it was refused).

    Raises:
        Stopped: the run is to end.
        EngineDead: nothing more will come from the engine.
        EngineError: a retryable one that the engine's own retries did not mend.
    """
    queue = iter(problems)
    result = ShardResult({}, {})

    async def one(problem: Problem) -> None:
        try:
            found = await annotator.annotate(problem)
        except EngineError as error:
            if error.retryable or isinstance(error, EngineDead):
                raise
            result.refused[problem.id] = str(error)
            finished(None)
        else:
            result.annotated[problem.id] = found
            finished(found)

    async def worker() -> None:
        try:
            for problem in queue:  # shared: each takes the next
                stop.check()
                await one(problem)
        except BaseException as error:
            stop.reason = stop.reason or f"another problem failed: {error}"
            raise

    # Every worker ends by itself, so that what is in flight when one fails still reaches the
    # ledger; the first failure is the cause, the others were stopped by it.
    workers = [worker() for _ in range(min(active, len(problems)))]
    outcomes = await asyncio.gather(*workers, return_exceptions=True)
    failures = [o for o in outcomes if isinstance(o, BaseException)]
    for failure in sorted(failures, key=lambda f: isinstance(f, Stopped)):
        raise failure
    return result


def write_shard(
    rundir: RunDir,
    shard: Shard,
    result: ShardResult,
    ledger: Ledger,
    spending: Spending,
    began: float,
) -> dict[str, Any]:
    """Write the parts of a finished shard, then its manifest, which is the commit.

    Args:
        rundir: where to.
        shard: what was to do.
        result: what came of it.
        ledger: every completion behind it.
        spending: what this process took from the policies.
        began: when this process began with the shard, in seconds since the epoch.
    """
    order = {problem.id: i for i, problem in enumerate(shard.problems)}
    annotated = [result.annotated[p.id] for p in shard.problems if p.id in result.annotated]
    rows = sorted(
        (row for row in ledger.rows() if row.problem_id in order),
        key=lambda r: (
            order[r.problem_id],
            len(r.prefix.text),
            r.prefix.text,
            r.policy,
            r.completion.draw,
        ),
    )
    parts: dict[str, pa.Table] = {
        "solutions": tables.solutions_table(s for a in annotated for s in a.solutions),
        "evidence": tables.evidence_table(e for a in annotated for e in a.evidence),
        "rollouts": tables.rollouts_table(rows),
    }
    for name, table in parts.items():
        write_table_atomic(rundir.part(name, shard.index), table)
    manifest = {
        "shard": shard.index,
        "problems_key": problems_key(shard.problems),
        "schema_version": schema.SCHEMA_VERSION,
        "rows": {
            "problems": len(shard.problems),
            **{name: t.num_rows for name, t in parts.items()},
        },
        "began": round(began, 3),
        "ended": round(time.time(), 3),
        "figures": shard_figures(shard.problems, annotated, result.refused, rows),
        "spending": asdict(spending),
        "refused": result.refused,
    }
    rundir.write_json(rundir.manifest(shard.index), manifest)
    return manifest


def problems_key(problems: Iterable[Problem]) -> str:
    """Identity of a shard's problems."""
    return content_id("shard", [p.id for p in problems])


def shard_figures(
    problems: Iterable[Problem],
    annotated: Sequence[AnnotatedProblem],
    refused: dict[str, str],
    rows: Sequence[LedgerRow],
) -> dict[str, Any]:
    """Counts that add up over shards: each value is an integer or a mapping of such."""
    questions = {p.id: p.question for p in problems}
    # What is asked of a judge is another question than the problem's.
    drawn = [row for row in rows if row.prefix.question == questions[row.problem_id]]
    outcomes = [row.outcome for row in drawn if row.outcome is not None]
    bare = [row for row in drawn if not row.prefix.text]
    judged = [e for a in annotated for e in a.evidence if e.channel == JUDGE]
    return {
        "problems": {
            "searched": sum(not a.skipped for a in annotated),
            **Counter(a.skipped for a in annotated if a.skipped),
            "refused": len(refused),
        },
        "root": {
            "correct": sum(a.root.c for a in annotated),
            "known": sum(a.root.k for a in annotated),
        },
        "solutions": dict(Counter(str(s.outcome.verdict) for a in annotated for s in a.solutions)),
        "surplus": dict(sum((Counter(a.surplus) for a in annotated), Counter())),
        "completions": {
            "total": len(drawn),
            "from_problem": len(bare),
            "from_prefix": len(drawn) - len(bare),
            **Counter(str(o.verdict) for o in outcomes),
        },
        "unknown_reasons": dict(
            Counter(o.reason for o in outcomes if o.verdict is Verdict.UNKNOWN)
        ),
        "judge": {
            "replies": len(rows) - len(drawn),
            "solutions": len(judged),
            "refused": sum(e.stop_reason == "refused" for e in judged),
            "unread": sum(e.n_truncated + e.n_unknown for e in judged),
            "spared": sum(a.spared for a in annotated),
        },
        "tokens": {
            "generated": sum(r.completion.n_tokens for r in rows),
            "prompt": sum(r.completion.prompt_tokens for r in rows),
            "prompt_cached": sum(r.completion.cached_tokens or 0 for r in rows),
            # Not every engine says what its cache served; a share is of those that do.
            "prompt_cache_known": sum(
                r.completion.prompt_tokens for r in rows if r.completion.cached_tokens is not None
            ),
        },
    }

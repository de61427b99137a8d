"""The flow that runs a job: one task per shard, retries, progress and summary artifacts.

Disk is the truth and Prefect is the dashboard: only the run directory, a shard's index and small
figures pass through it. Every step is a plain function of `stepmill.pipelines`.
"""

import time
from typing import Any, cast
from uuid import UUID

from prefect import flow, task
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.futures import PrefectFuture, as_completed
from prefect.tasks import Task, exponential_backoff

from stepmill.errors import StepmillError
from stepmill.pipelines.config import Config
from stepmill.pipelines.figures import markdown_summary
from stepmill.pipelines.finish import finish
from stepmill.pipelines.run import Prepared, prepare
from stepmill.pipelines.rundir import RunDir
from stepmill.pipelines.workshop import annotate_shard, close_workshop

UPDATE_SECONDS = 2.0
"""Between two updates of the progress artifact; each costs the server a write."""

ShardFuture = PrefectFuture[dict[str, Any]]


def worth_retrying(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether the same shard may succeed when it is tried again.

    It will not after a user's mistake, nor when the run was stopped.
    """
    error = state.result(raise_on_failure=False)
    return not isinstance(error, StepmillError) or error.retryable


@task(
    name="annotate-shard",
    task_run_name="shard-{index:05d}",
    retries=3,
    retry_delay_seconds=exponential_backoff(2),
    retry_jitter_factor=0.5,
    retry_condition_fn=worth_retrying,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def annotate_shard_task(root: str, index: int) -> dict[str, Any]:
    """Do one shard; its result is the shard's manifest."""
    return annotate_shard(root, index)


@flow(name="annotate", flow_run_name="annotate {config.name}", persist_result=False)
def annotate(config: Config, out: str, reuse: list[str] | None = None) -> dict[str, Any]:
    """A whole run: prepare, do the shards, write the data set.

    Args:
        config: the configuration; the server checks it before a run is made.
        out: run directory; one that is begun is continued.
        reuse: run directories whose stored completions may be used.

    Returns:
        The figures of the run, as in its metrics.json.
    """
    prepared = prepare(config, out, reuse or [])
    try:
        with RunDir(prepared.root).exclusive():
            _do_shards(prepared, config.run.shards_at_once)
    finally:
        close_workshop(out)
    metrics = finish(out)
    create_markdown_artifact(key="summary", markdown=markdown_summary(metrics))
    return metrics


def _do_shards(prepared: Prepared, at_once: int) -> None:
    """Keep `at_once` shard tasks going until all are done; the first failure ends the flow."""
    total, waiting = len(prepared.shards), list(prepared.todo)
    artifact = cast(  # Prefect's type leaves open whether it must be awaited; not in a sync flow
        "UUID",
        create_progress_artifact(
            progress=100 * (total - len(waiting)) / total,
            key="progress",
            description=f"shards of {prepared.root}",
        ),
    )
    shown, manifests = time.monotonic(), list[dict[str, Any]]()
    running: set[ShardFuture] = set()
    while waiting or running:
        while waiting and len(running) < at_once:
            running.add(annotate_shard_task.submit(str(prepared.root), waiting.pop(0)))
        ended = next(as_completed(list(running)))
        ended.wait()  # without it the state is stale
        running.remove(ended)
        manifests.append(ended.result())
        if time.monotonic() - shown > UPDATE_SECONDS or not (waiting or running):
            shown = time.monotonic()
            left = len(waiting) + len(running)
            update_progress_artifact(artifact, progress=100 * (total - left) / total)
    if manifests:
        create_table_artifact(
            key="shards",
            table=[
                {"shard": m["shard"], **m["rows"], "seconds": round(m["ended"] - m["began"])}
                for m in sorted(manifests, key=lambda m: m["shard"])
            ],
        )

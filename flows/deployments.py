"""Scheduled and remote runs through Prefect: serve from this process, or deploy to a work pool.

A deployment's parameters are the configuration itself, so the Prefect server checks them against
their schema before it makes a run, and its page shows them as a form. The entrypoint is the
installed module, so workers need this package and no checkout. One run at a time writes a run
directory; a second is cancelled by the deployment's own limit and refused by the directory's lock.
"""

from pathlib import Path
from typing import Any

from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.deployments.runner import RunnerDeployment
from prefect.types.entrypoint import EntrypointType

from stepmill.flows.annotate import annotate
from stepmill.pipelines.config import Config


def parameters(config: Config, out: Path) -> dict[str, Any]:
    """The flow's parameters as plain values; the run directory becomes absolute."""
    return {"config": config.model_dump(mode="json"), "out": str(out.resolve())}


def serve(config: Config, out: Path, cron: str | None) -> None:
    """Register a deployment and serve its runs from this process until it is stopped.

    Prefect pauses the schedule when the process ends, and resumes it at the next start.
    """
    annotate.serve(
        name=config.name,
        cron=cron,
        parameters=parameters(config, out),
        limit=1,
        description=f"stepmill run of {config.name}",
        tags=["stepmill"],
        print_starting_message=False,
        entrypoint_type=EntrypointType.MODULE_PATH,
    )


def deploy(config: Config, out: Path, work_pool: str, cron: str | None) -> str:
    """Register a deployment that workers of `work_pool` take up; returns its full name."""
    deployment = RunnerDeployment.from_flow(
        annotate,
        name=config.name,
        cron=cron,
        parameters=parameters(config, out),
        work_pool_name=work_pool,
        concurrency_limit=ConcurrencyLimitConfig(
            limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
        ),
        description=f"stepmill run of {config.name}",
        tags=["stepmill"],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    deployment.apply()
    return f"{annotate.name}/{config.name}"

"""`stepmill deploy CONFIG --work-pool NAME`: a run for the workers of a pool."""

import argparse

from stepmill.commands.prefect_server import require_server
from stepmill.commands.run import config_arguments, read_options


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    config_arguments(parser)
    parser.add_argument("--work-pool", required=True, metavar="NAME", help="an existing pool")
    parser.add_argument("--cron", help="when, such as '0 2 * * *'; without it only on demand")


def main(options: argparse.Namespace) -> int:
    """Register the deployment."""
    config, out = read_options(options)
    require_server()
    from stepmill.flows.deployments import deploy  # Prefect takes seconds to import

    name = deploy(config, out, options.work_pool, options.cron)
    print(f"deployed {name}; workers need this package and the run directory {out.resolve()}")
    print(f"  worker: prefect worker start --pool {options.work_pool}")
    print(f"  now:    prefect deployment run {name}")
    return 0

"""`stepmill serve CONFIG --cron …`: runs by a schedule, made by this process."""

import argparse
import os

from stepmill.commands.prefect_server import require_server
from stepmill.commands.run import config_arguments, read_options


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    config_arguments(parser)
    parser.add_argument("--cron", help="when, such as '0 2 * * *'; without it only on demand")


def main(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    config, out = read_options(options)
    url = require_server()
    from stepmill.flows.deployments import serve  # Prefect takes seconds to import

    print(f"serving annotate/{config.name} from process {os.getpid()}, Prefect at {url}")
    print("  now:  prefect deployment run " + f"annotate/{config.name}")
    print("  stop: Ctrl-C; the schedule then rests until this command is given again")
    serve(config, out, options.cron)
    return 0

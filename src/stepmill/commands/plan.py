"""`stepmill plan CONFIG`: what a run will spend."""

import argparse
import json
from dataclasses import asdict

from stepmill.commands.display import estimate
from stepmill.errors import UserError
from stepmill.pipelines.config import load_config
from stepmill.pipelines.planning import Amount, bound, pilot


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("config", metavar="CONFIG", help="YAML file")
    parser.add_argument("--limit", type=int, help="plan for the first LIMIT problems")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change one key"
    )
    parser.add_argument(
        "--steps", type=int, default=8, help="assumed steps per solution (default: 8)"
    )
    parser.add_argument(
        "--pilot", type=int, metavar="N", help="run N problems for real and scale their cost"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(options: argparse.Namespace) -> int:
    """Print the plan."""
    for name in ("limit", "steps", "pilot"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise UserError(f"--{name} {getattr(options, name)}: must be at least 1")
    changes = list(options.set)
    if options.limit is not None:
        changes.append(f"problems.limit={options.limit}")
    config = load_config(options.config, changes)
    plan = pilot(config, options.pilot) if options.pilot else bound(config, options.steps)
    if options.json:
        print(json.dumps(asdict(plan)))
        return 0
    print(f"problems   {plan.problems:>14,}")
    for reason, n in plan.set_aside.items():
        print(f"  set aside: {n:,} {reason}")
    print(f"solutions  {_amount(plan.solutions)}")
    print(f"rollouts   {_amount(plan.rollouts)}")
    if plan.replies.total:
        print(f"replies    {_amount(plan.replies)} of the judge")
    print(f"tokens     {_amount(plan.tokens)}")
    if plan.seconds is not None:
        print(f"time       {estimate(plan.seconds, 1):>14}")
    print(f"({plan.basis})")
    return 0


def _amount(amount: Amount) -> str:
    error = "" if amount.error is None else f" ± {amount.error:,.0f}"
    return f"{amount.total:>14,.0f}{error}"

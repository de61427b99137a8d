"""`stepmill label RUN --rule NAME`: other labels from the evidence that is there."""

import argparse
from pathlib import Path
from typing import Any

import yaml

from stepmill.commands.display import print_summary
from stepmill.errors import UserError
from stepmill.pipelines.finish import finish, label_rule


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="run directory")
    parser.add_argument("--rule", required=True, help="label rule, such as hard or soft")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the rule, such as after_error=zero; repeatable",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")


def main(options: argparse.Namespace) -> int:
    """Write the data set of a run anew."""
    label: dict[str, Any] = {"rule": options.rule}
    for change in options.set:
        key, sign, value = change.partition("=")
        if not sign:
            raise UserError(f"--set {change}: write it as key=value, such as after_error=zero")
        label[key] = yaml.safe_load(value)
    metrics = finish(options.run, label_rule(label))
    print_summary(metrics, options.run, as_json=options.json)
    return 0

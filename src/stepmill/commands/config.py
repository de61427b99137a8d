"""`stepmill config`: check a configuration, or print the JSON schema of one."""

import argparse
import json

import yaml

from stepmill.errors import UserError
from stepmill.pipelines.config import load_config, schema


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("config", metavar="CONFIG", nargs="?", help="YAML file to check")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change one key"
    )
    parser.add_argument("--schema", action="store_true", help="print the JSON schema")


def main(options: argparse.Namespace) -> int:
    """Print the schema, or the configuration with every default filled in."""
    if options.schema:
        print(json.dumps(schema(), indent=1))
        return 0
    if options.config is None:
        raise UserError("name a configuration file, or use --schema")
    config = load_config(options.config, options.set)
    print(yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False), end="")
    return 0

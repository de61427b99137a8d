"""`stepmill export RUN --format NAME`: the data set in a trainer's or a benchmark's format."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from stepmill.pipelines.config import settings_from
from stepmill.pipelines.exports.base import FORMATS, ExportSettings
from stepmill.pipelines.exports.export import export


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="run directory")
    parser.add_argument("--format", required=True, help=f"one of: {', '.join(FORMATS)}")
    parser.add_argument("--out", type=Path, help="file to write (default: RUN/export/FORMAT.…)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="after_error=truncate|mask|zero|measured, threshold=0.5; repeatable",
    )
    parser.add_argument("--json", action="store_true", help="print the counts as one JSON object")


def main(options: argparse.Namespace) -> int:
    """Write the file and say what went into it and what did not."""
    settings = settings_from(ExportSettings, options.set)
    suffix = FORMATS[options.format].file
    out = options.out or options.run / "export" / f"{options.format}.{suffix}"
    done = export(options.run, options.format, out, settings)
    if options.json:
        print(json.dumps({"file": str(out), **asdict(done)}))
        return 0
    print(f"{out}: {done.rows:,} rows with {done.labels:,} labels")
    for reason, n in done.refused.items():
        print(f"  refused: {n:,} {reason}", file=sys.stderr)
    for line in done.refused_ids:
        print(f"    {line}", file=sys.stderr)
    return 0

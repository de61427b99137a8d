"""`stepmill import FILE --format NAME --out RUN`: a foreign labelled file as a run directory."""

import argparse
from pathlib import Path

from stepmill.pipelines.exports.importing import import_file


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", metavar="FILE", type=Path, help="JSON lines")
    parser.add_argument("--format", required=True, help="processbench, prm800k or math-shepherd")
    parser.add_argument("--out", type=Path, required=True, help="run directory to make")


def main(options: argparse.Namespace) -> int:
    """Read the file."""
    rows = import_file(options.file, options.format, options.out)
    print(f"{options.out}: {rows:,} rows; look at them with: stepmill show {options.out}")
    return 0

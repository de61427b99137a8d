"""`stepmill doctor`: what is installed and usable here."""

import argparse
import json
from dataclasses import asdict

from stepmill.pipelines.doctor import examine

MARKS = {"ok": "ok     ", "missing": "missing", "broken": "BROKEN "}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def main(options: argparse.Namespace) -> int:
    """Print one finding a line; exit code 1 when something is broken."""
    findings = examine()
    if options.json:
        print(json.dumps([asdict(f) for f in findings], indent=1))
    else:
        width = max(len(f.name) for f in findings)
        for finding in findings:
            print(f"{MARKS[finding.status]}  {finding.name:<{width}}  {finding.detail}")
            if finding.status != "ok" and finding.how:
                print(f"{'':9}{'':{width}}  -> {finding.how}")
    return 1 if any(f.status == "broken" for f in findings) else 0

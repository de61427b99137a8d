"""`stepmill inspect RUN`: what a run made, in tables."""

import argparse
import json
from pathlib import Path
from typing import Any

from stepmill.pipelines.figures import summary_lines
from stepmill.pipelines.inspection import POSITIONS, overview


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="run directory")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(options: argparse.Namespace) -> int:
    """Print the figures, then labels by position and by outcome."""
    found = overview(options.run)
    if options.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    from rich.console import Console

    console = Console(soft_wrap=True)
    for line in _head(found):
        console.print(line, highlight=False, markup=False)
    _table(
        console,
        "Labels by position",
        ("step", "steps", "good", "bad", "no label", "soft label", "value"),
        [
            (
                f"{r['position']}{'+' if r['position'] == POSITIONS - 1 else ''}",
                r["steps"],
                r["good"],
                r["bad"],
                r["unlabelled"],
                r["soft"],
                r["value"],
            )
            for r in found["by_position"]
        ],
    )
    _table(
        console,
        "Solutions by outcome",
        ("outcome", "rows", "no error", "error found", "unknown", "steps"),
        [
            (r["outcome"], r["rows"], r["without_error"], r["with_error"], r["unknown"], r["steps"])
            for r in found["by_outcome"]
        ],
    )
    _table(
        console,
        "Where the first error is",
        ("part of the solution", "rows"),
        [
            (f"{20 * r['fifth']}-{20 * r['fifth'] + 20} %", r["len"])
            for r in found["first_error_fifth"]
        ],
    )
    _table(
        console,
        "Steps without a label",
        ("reason", "steps"),
        [(r["label_reason"], r["len"]) for r in found["unlabelled_reasons"]],
    )
    return 0


def _head(found: dict[str, Any]) -> list[str]:
    """What was made; of imported labels, where they come from."""
    if (imported := found["imported"]) is None:
        return summary_lines(found["metrics"])
    return [f"{imported['rows']:,} rows imported from {imported['file']} ({imported['format']})"]


def _table(console: Any, title: str, names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:  # noqa: ANN401
    """Print a table; numbers are right-aligned, None is a dash; without rows nothing is printed."""
    if not rows:
        return
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    for i, name in enumerate(names):
        table.add_column(name, justify="right" if i else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    console.print()
    console.print(table)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)

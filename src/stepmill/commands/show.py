"""`stepmill show RUN [ID]`: one solution, its steps coloured by label, each with its evidence."""

import argparse
import json
from pathlib import Path
from typing import Any

from stepmill.pipelines.inspection import find_row

STYLES = {1: "green", 0: "red", None: "yellow"}
MARKS = {1: "+", 0: "-", None: "?"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="run directory")
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="id of a solution, or its beginning (default: any)"
    )
    parser.add_argument("--json", action="store_true", help="print the row as one JSON object")


def main(options: argparse.Namespace) -> int:
    """Print the solution."""
    row = find_row(options.run, options.id)
    if options.json:
        print(json.dumps(row, ensure_ascii=False, default=str))
        return 0
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    console.print(Text(f"solution {row['id']} of problem {row['problem_id']}", style="bold"))
    if row["simulated"]:
        console.print(Text("SIMULATED: no language model wrote this", style="bold magenta"))
    console.print(Text(row["prompt"].strip()))
    console.print(Text(f"reference answer: {row['reference_answer']}", style="dim"))
    console.print(Text(_root_line(row), style="dim"))
    console.print()
    for step in row["steps"]:
        label = step["hard_label"]
        line = Text(f"{step['index']:>3} {MARKS[label]} ", style=f"bold {STYLES[label]}")
        line.append(step["text"].rstrip("\n"), style=STYLES[label])
        line.append(f"   {_evidence(step)}", style="dim")
        console.print(line)
    console.print()
    console.print(Text(_outcome_line(row)))
    return 0


def _root_line(row: dict[str, Any]) -> str:
    if not row["n_rollouts_0"]:
        return "success rate of the problem: unknown"
    return (
        f"success rate of the problem: {row['n_correct_0']} of {row['n_rollouts_0']}"
        f" = {row['value_0']:.2f}"
    )


def _evidence(step: dict[str, Any]) -> str:
    """Counts, label and where it comes from, in one line."""
    parts = []
    if step["n_rollouts"] is not None:
        parts.append(f"{step['n_correct']} of {step['n_rollouts']} right")
    for name in ("n_truncated", "n_unknown"):
        if step[name]:
            parts.append(f"{step[name]} {name.removeprefix('n_')}")
    if step["soft_label"] is not None:
        parts.append(f"soft {step['soft_label']:.2f}")
    parts.append(step["label_source"] or step["label_reason"] or "no label")
    return "[" + ", ".join(parts) + "]"


def _outcome_line(row: dict[str, Any]) -> str:
    error = row["first_error"]
    place = {None: "unknown", -1: "none"}.get(error, f"step {error}")
    answer = "no final answer" if row["final_answer"] is None else f"answer {row['final_answer']}"
    return f"{answer}: {row['outcome']} ({row['outcome_reason']}); first error: {place}"

"""`stepmill label RUN`: other labels from the evidence that is there, or where two rules differ."""

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from stepmill.commands.display import print_summary
from stepmill.errors import UserError
from stepmill.pipelines.comparison import compare
from stepmill.pipelines.config import apply_change
from stepmill.pipelines.figures import summary_lines
from stepmill.pipelines.finish import finish, label_rule, view_folder
from stepmill.pipelines.inspection import read_metrics
from stepmill.pipelines.labels import LABEL_RULES, LabelSettings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="run directory")
    parser.add_argument("--rule", help=f"label rule, one of: {', '.join(LABEL_RULES)}")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the rule, such as after_error=zero; repeatable",
    )
    parser.add_argument(
        "--as",
        dest="view",
        metavar="NAME",
        help="write to RUN/views/NAME and leave the run's own data set as it is",
    )
    parser.add_argument(
        "--compare",
        nargs=2,
        metavar=("A", "B"),
        help="say where two rules differ; each is a rule with its settings"
        " ('hard after_error=zero') or the name of a view",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")


def main(options: argparse.Namespace) -> int:
    """Write the data set of a run anew, or compare two rules."""
    if options.compare:
        if options.rule or options.set or options.view:
            raise UserError("--compare takes no --rule, --set or --as: it writes nothing")
        a, b = (_rule(options.run, words) for words in options.compare)
        found = compare(options.run, a, b)
        print(json.dumps(found, ensure_ascii=False) if options.json else _told(found))
        return 0
    if options.rule is None:
        raise UserError("name a rule with --rule, or two with --compare")
    metrics = finish(options.run, _changed(options.rule, options.set), options.view)
    if options.view is None or options.json:
        print_summary(metrics, options.run, as_json=options.json)
        return 0
    out = view_folder(options.run, options.view)
    print("\n".join(summary_lines(metrics)))
    print(f"\nThe view is in {out}; read it like a run: stepmill inspect {out}")
    return 0


def _rule(run: Path, words: str) -> LabelSettings:
    """A rule from `NAME key=value …`, or that of a view."""
    try:
        name, *changes = shlex.split(words) or [""]
    except ValueError:
        raise UserError(f"--compare {words}: a quotation mark is not closed") from None
    if not changes and name not in LABEL_RULES:
        folder = run / "views" / name
        if name and folder.is_dir():
            return label_rule(read_metrics(folder)["label"])
    return _changed(name, changes)


def _changed(name: str, changes: list[str]) -> LabelSettings:
    label: dict[str, Any] = {"rule": name}
    for change in changes:
        apply_change(label, change)
    return label_rule(label)


def _told(found: dict[str, Any]) -> str:
    """The comparison in words."""
    whole = found["solutions"]
    lines = [
        f"a: {json.dumps(found['a'])}",
        f"b: {json.dumps(found['b'])}",
        f"solutions    {whole['differing']:,} of {whole['total']:,} differ",
    ]
    for title, key in (("steps", "steps"), ("first error", "first_error")):
        told = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in found[key].items())
        lines.append(f"{title:<12} {told}")
    if found["moves"]:
        lines.append(
            "hard labels  " + ", ".join(f"{n:,} {move}" for move, n in found["moves"].items())
        )
    if found["kappa"] is not None:
        lines.append(f"agreement    kappa {found['kappa']:.3f} where both have a hard label")
    if found["mean_distance"] is not None:
        lines.append(f"distance     {found['mean_distance']:.4f} between soft labels, on average")
    for example in found["examples"]:
        lines.append(f"\nsolution {example['solution_id']}, step {example['step']}:")
        lines.append(f"  {example['text'].strip()}")
        for side in ("a", "b"):
            said = example[side]
            lines.append(
                f"  {side}: {'no label' if said['label'] is None else format(said['label'], '.3g')}"
                f" ({said['because']}), first error {_place(said['first_error'])}"
            )
    return "\n".join(lines)


def _place(first_error: int | None) -> str:
    return {None: "unknown", -1: "none"}.get(first_error, str(first_error))

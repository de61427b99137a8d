"""How precise are consensus labels? A simulated policy and a simulated judge, against the truth.

    python benchmarks/consensus.py [--problems 200] [--json]

Word problems tell the truth about every step, so every label can be checked. One run per judge
gathers rollouts (every step, 8 each) and 5 votes for every solution; the rules are views over the
same evidence. `kept`: share of solutions whose first error is known. `first error right`: share of
these where it is the true one (its place, or that there is none). `labels right`: share of right
ones among the labelled steps up to the first error.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from stepmill.pipelines.config import check_config
from stepmill.pipelines.dataset import stored_part
from stepmill.pipelines.finish import finish, finished_shards, label_rule, open_finished
from stepmill.pipelines.labels import label
from stepmill.pipelines.run import prepare, run_here
from stepmill.pipelines.workshop import close_workshop
from stepmill.wordproblems import first_error

RULES: dict[str, dict[str, Any]] = {
    "rollouts (any)": {"rule": "hard"},
    "rollouts (half of root)": {"rule": "hard", "alive": {"by": "relative"}},
    "judge": {"rule": "judge"},
    "consensus (any)": {"rule": "consensus"},
    "consensus (half of root)": {"rule": "consensus", "rollouts": {"alive": {"by": "relative"}}},
}


def gather(out: Path, problems: int, error: float, shared: float) -> None:
    """One run with a judge of this error rate."""
    config = check_config(
        {
            "name": "consensus",
            "problems": {"kind": "generated", "n": problems, "seed": 11},
            "policy": {"engine": {"kind": "simulated", "skill": 0.92, "self_correction": 0.05}},
            "judge": {
                "engine": {"kind": "simulated-judge", "error": error, "shared": shared},
                "votes": 5,
            },
            "segmenter": {"kind": "line"},
            "solutions": {"n": 8},
            "search": {"method": "every-step", "k": 8, "annotate": "all"},
        },
        "benchmark",
    )
    try:
        run_here(prepare(config, out), config.run.shards_at_once)
        finish(out)
    finally:
        close_workshop(out)


def measure(out: Path, rule: dict[str, Any]) -> dict[str, float]:
    """What a rule makes of a run, held against the truth."""
    rundir, _, config = open_finished(out)
    solutions = known = right_place = labelled = right_labels = 0
    for shard in finished_shards(rundir):
        found, evidence = stored_part(rundir, shard, config.dataset)
        found = found.unique("id", maintain_order=True)
        labels = label(found, evidence, label_rule(rule))
        truth = {
            row["id"]: first_error(row["question"], row["text"])
            for row in found.select("id", "question", "text").iter_rows(named=True)
        }
        said = labels.solutions.drop_nulls("first_error")
        solutions += found.height
        known += said.height
        right_place += sum(
            truth[i] == e for i, e in said.select("solution_id", "first_error").rows()
        )
        steps = labels.steps.filter(pl.col("hard").is_not_null(), ~pl.col("after_error"))
        labelled += steps.height
        right_labels += sum(
            hard == int(truth[i] == -1 or step < truth[i])
            for i, step, hard in steps.select("solution_id", "step", "hard").rows()
        )
    return {
        "solutions": solutions,
        "kept": known / solutions,
        "first_error": right_place / known,
        "labels": right_labels / labelled,
    }


def table(problems: int, judges: list[tuple[float, float]]) -> list[dict[str, Any]]:
    """One row per judge (error rate, how much votes share) and rule."""
    rows = []
    for error, shared in judges:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            gather(out, problems, error, shared)
            for name, rule in RULES.items():
                rows.append({"error": error, "shared": shared, "rule": name, **measure(out, rule)})
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = table(options.problems, [(0.1, 1.0), (0.2, 1.0), (0.4, 1.0), (0.4, 0.5)])
    if options.json:
        print(json.dumps({"rows": rows}))
        return
    print("| judge's errors | shared | rule | kept | first error right | labels right |")
    print("|---:|---:|---|---:|---:|---:|")
    for row in rows:
        print(
            f"| {row['error']:.0%} | {row['shared']:.0%} | {row['rule']} | {row['kept']:.1%}"
            f" | {row['first_error']:.1%} | {row['labels']:.2%} |"
        )


if __name__ == "__main__":
    main()

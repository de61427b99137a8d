"""Do searches overlap? Wall time of a run against the bound that its work and its slots allow.

    python benchmarks/overlap.py [--problems 200] [--latency 0.05] [--in-flight 64] [--json]

The simulated policy answers every request after a fixed latency, so a request of n draws holds n of
the allowed slots for that long. The bound is the sum of that over all requests, divided by the
slots: no schedule can be faster. Loading and the writing of the data set are not in the wall time.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from stepmill.pipelines.config import check_config
from stepmill.pipelines.run import prepare, run_here
from stepmill.pipelines.workshop import close_workshop, workshop


def measure(method: str, problems: int, latency: float, in_flight: int) -> dict[str, float | str]:
    """One run; returns wall seconds, the bound, and their ratio."""
    config = check_config(
        {
            "name": "overlap",
            "problems": {"kind": "generated", "n": problems, "seed": 1},
            "policy": {"engine": {"kind": "simulated", "latency": latency}},
            "segmenter": {"kind": "line"},
            "solutions": {"n": 8},
            "search": {"method": method, "k": 8},
            "run": {"shard_size": problems // 4, "in_flight": in_flight},
        },
        "overlap",
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        prepared = prepare(config, out)
        shop = workshop(out)  # loads the engine before the clock starts
        began = time.monotonic()
        run_here(prepared, config.run.shards_at_once)
        wall = time.monotonic() - began
        completions = shop.progress.rollouts
        close_workshop(out)
    bound = completions * latency / in_flight
    return {
        "method": method,
        "completions": completions,
        "wall_s": round(wall, 2),
        "bound_s": round(bound, 2),
        "ratio": round(wall / bound, 3),
    }


def main() -> None:
    """Measure every search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds per request")
    parser.add_argument("--in-flight", type=int, default=64, help="draws in flight")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [
        measure(method, options.problems, options.latency, options.in_flight)
        for method in ("every-step", "scan", "binary", "omegaprm")
    ]
    if options.json:
        print(json.dumps({"rows": rows}))
        return
    print(f"{'search':<12}{'completions':>12}{'wall s':>9}{'bound s':>9}{'ratio':>8}")
    for row in rows:
        print(
            f"{row['method']:<12}{row['completions']:>12}{row['wall_s']:>9}{row['bound_s']:>9}"
            f"{row['ratio']:>8}"
        )


if __name__ == "__main__":
    main()

"""How many checks a second one core does, by kind of check.

    python benchmarks/verifier_throughput.py [--part NAME ...] [--seconds S] [--data FOLDER]
        [--json]

Each part repeats a fixed batch for about S seconds and reports the best batch, since other work on
the machine can only slow a batch down; the mean is given beside it. Without a folder of data sets
the batches are written here. A new part is a function in `PARTS` that returns its batch.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from labelled_steps import read_source
from logic_batches import chain_verdicts, puzzle_verdicts

from stepmill.verifiers.arithmetic import check_steps


@dataclass(frozen=True, slots=True)
class Batch:
    """Work that can be repeated."""

    unit: str
    """What is counted: `steps`, `pairs`, `verdicts`."""
    size: int
    """Units in one run."""
    run: Callable[[], object]


_WRITTEN = [
    "Natalia sold 48/2 = <<48/2=24>>24 clips in May.",
    "Altogether she sold 48 + 24 = <<48+24=72>>72 clips in April and May.",
    "The discount is $80 x 40/100 = $<<80*40/100=32>>32, so the price is $80 - $32 = $48.",
    r"The third side is \(\frac{3}{4} \times 24 = 18\) cm, which makes \(18 + 24 = 42\) cm.",
    "Then he gives the rest of the marbles to his three friends in equal parts.",
    "A - B = (5 + 3 - -2 * 2) - (4 - 9) = 12 - (-5) = 17",
]
"""Steps in the manner of word problems, for a machine without the data sets."""


def step_arithmetic(data: Path | None) -> Batch:
    """Steps of GSM8K gold solutions, or written ones."""
    if data is None:
        solutions = [("", _WRITTEN)] * 50
    else:
        gold = list(read_source(data, "gsm8k_gold"))[:400]
        solutions = [(solution.question, solution.steps) for solution in gold]

    def run() -> None:
        for question, steps in solutions:
            check_steps(question, steps)

    return Batch("steps", sum(len(steps) for _, steps in solutions), run)


def logic_chain(_: Path | None) -> Batch:
    """Steps of a deduction, each from all rules, with one incremental solver."""
    return Batch("verdicts", *chain_verdicts())


def logic_puzzle(_: Path | None) -> Batch:
    """Claims on an ordering puzzle, with one incremental solver."""
    return Batch("verdicts", *puzzle_verdicts())


PARTS: dict[str, Callable[[Path | None], Batch]] = {
    "logic_chain": logic_chain,
    "logic_puzzle": logic_puzzle,
    "step_arithmetic": step_arithmetic,
}


def measure(batch: Batch, seconds: float) -> dict[str, float | str]:
    """Rates in units a second of CPU time: the best run, and the mean of all."""
    spent: list[float] = []
    batch.run()  # the first run fills caches
    until = time.perf_counter() + seconds
    while not spent or time.perf_counter() < until:
        start = time.process_time()
        batch.run()
        spent.append(time.process_time() - start)
    return {
        "unit": batch.unit,
        "best_per_second": round(batch.size / min(spent), 1),
        "mean_per_second": round(batch.size * len(spent) / sum(spent), 1),
        "runs": len(spent),
    }


def main() -> None:
    """Reads the arguments, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=sorted(PARTS), action="append", help="default: all")
    parser.add_argument("--seconds", type=float, default=5.0, help="time for each part")
    parser.add_argument("--data", type=Path, help="folder of data sets, as for verification.py")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    rates = {
        part: measure(PARTS[part](arguments.data), arguments.seconds)
        for part in arguments.part or PARTS
    }
    if arguments.json:
        print(json.dumps(rates))
    else:
        for part, rate in rates.items():
            print(part, "  ".join(f"{key}={value}" for key, value in rate.items()))


if __name__ == "__main__":
    main()

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
from made_answers import ALGEBRA, EXPRESSIONS, SPECIAL_FORMS, Pair, draw, solutions

from stepmill.verifiers.answers.clean import clean
from stepmill.verifiers.answers.equivalence import Equivalence
from stepmill.verifiers.answers.expressions import parse
from stepmill.verifiers.answers.mathverify import build
from stepmill.verifiers.answers.reading import read
from stepmill.verifiers.arithmetic import check_steps
from stepmill.verifiers.extract import extract_answer


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


def _answers(pairs: list[Pair]) -> Batch:
    """Pairs decided by exact forms, with every cache emptied before each run."""

    def run() -> None:
        for cached in (clean, read, parse):
            cached.cache_clear()
        forms = Equivalence(workers=0)
        for pair in pairs:
            forms.decide_here(*pair)

    return Batch("pairs", len(pairs), run)


def answers_special_forms(_: Path | None) -> Batch:
    """Answers of every special form, equally often."""
    return _answers(draw(SPECIAL_FORMS, 4400, seed=0))


def answers_numbers(_: Path | None) -> Batch:
    """Answers as word problems have them: whole numbers, plain, with commas, as money, boxed."""
    numbers = ("integer", "thousands", "decimal", "money", "boxed", "counted")
    return _answers(draw({name: SPECIAL_FORMS[name] for name in numbers}, 6000, seed=0))


def answers_expressions(_: Path | None) -> Batch:
    """Roots, multiples of pi, polynomials, equations."""
    return _answers(draw(EXPRESSIONS, 800, seed=0))


def answers_cached(_: Path | None) -> Batch:
    """Answers that were met before, as most rollouts' answers were."""
    forms, pairs = Equivalence(workers=0), draw(SPECIAL_FORMS, 4400, seed=0)

    def run() -> None:
        for pair in pairs:
            forms.decide_here(*pair)

    return Batch("pairs", len(pairs), run)


def answers_algebra(_: Path | None) -> Batch:
    """Answers that only math-verify decides, in this process, as one worker would."""
    work = build({"policy": {}})
    jobs = [{"gold": clean(a), "prediction": clean(b)} for a, b in draw(ALGEBRA, 20, seed=0)]

    def run() -> None:
        for job in jobs:
            work(job)

    return Batch("pairs", len(jobs), run)


def answers_extraction(_: Path | None) -> Batch:
    """Final answers found in solutions of thirteen lines."""
    texts = solutions(500, seed=0)

    def run() -> None:
        for text in texts:
            extract_answer(text)

    return Batch("solutions", len(texts), run)


def logic_chain(_: Path | None) -> Batch:
    """Steps of a deduction, each from all rules, with one incremental solver."""
    return Batch("verdicts", *chain_verdicts())


def logic_puzzle(_: Path | None) -> Batch:
    """Claims on an ordering puzzle, with one incremental solver."""
    return Batch("verdicts", *puzzle_verdicts())


PARTS: dict[str, Callable[[Path | None], Batch]] = {
    "answers_algebra": answers_algebra,
    "answers_cached": answers_cached,
    "answers_expressions": answers_expressions,
    "answers_extraction": answers_extraction,
    "answers_numbers": answers_numbers,
    "answers_special_forms": answers_special_forms,
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

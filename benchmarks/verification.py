"""How well step verifiers find the first error that people marked.

    python benchmarks/verification.py --data FOLDER [--source NAME ...] [--flags] [--json]

For each source: steps, coverage (share of steps with a claim that could be reckoned), and how the
first step proved wrong lies to the first error of people. Precision is the share of flagged
solutions whose first flag is people's first error; recall the share of solutions with an error
where it is. `--flags` lists every flag before people's first error, in a solution they call right,
or in a source without labels: each should be false by exact computation. FOLDER is read by
`labelled_steps.py`.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from labelled_steps import SOURCES, LabelledSolution, read_source

from stepmill.records import Verdict
from stepmill.verifiers.arithmetic import check_steps
from stepmill.verifiers.claims import StepFindings, first_incorrect


@dataclass(frozen=True, slots=True)
class Flag:
    """A step called incorrect where people see no error, or not yet."""

    solution: str
    step: int
    people: int | None
    """Their first error, as in `LabelledSolution.first_error`."""
    claims: list[str]
    """Each false claim with both exact sides."""


@dataclass(slots=True)
class Score:
    """Counts over one source."""

    source: str
    solutions: int = 0
    errors: int = 0
    """Solutions in which people mark an error."""
    steps: int = 0
    covered: int = 0
    """Steps with a claim whose two sides have exact values."""
    flagged_steps: int = 0
    flagged: int = 0
    """Solutions with a flagged step, among those with a label."""
    places: Counter[str] = field(default_factory=Counter)
    """First flag against people's first error: exact, early, late, missed, false, agreed."""
    flags: list[Flag] = field(default_factory=list)

    def add(self, solution: LabelledSolution, steps: Sequence[StepFindings]) -> None:
        """Counts one solution."""
        self.solutions += 1
        self.steps += len(steps)
        self.covered += sum(any(f.rhs is not None for f in s.findings) for s in steps)
        wrong = [s for s in steps if s.verdict is Verdict.INCORRECT]
        self.flagged_steps += len(wrong)
        people = solution.first_error
        self.flags += [
            _flag(solution, step)
            for step in wrong
            if people is None or people < 0 or step.step < people
        ]
        if people is not None:
            self.errors += people >= 0
            self.flagged += bool(wrong)
            self.places[_place(first_incorrect(steps), people)] += 1

    def summary(self) -> dict[str, object]:
        """Plain values with the two shares; None where a share has no denominator."""
        exact = self.places["exact"]
        return {
            "source": self.source,
            "solutions": self.solutions,
            "errors": self.errors,
            "steps": self.steps,
            "coverage": round(self.covered / self.steps, 4) if self.steps else None,
            "flagged_steps": self.flagged_steps,
            "places": dict(sorted(self.places.items())),
            "precision": round(exact / self.flagged, 4) if self.flagged else None,
            "recall": round(exact / self.errors, 4) if self.errors else None,
            "flags": [asdict(flag) for flag in self.flags],
        }


def _place(first: int | None, people: int) -> str:
    if first is None:
        return "agreed" if people < 0 else "missed"
    if people < 0:
        return "false"
    return "exact" if first == people else "early" if first < people else "late"


def _flag(solution: LabelledSolution, step: StepFindings) -> Flag:
    claims = [
        f"{finding.claim}  [{finding.lhs} | {finding.rhs}, {finding.reason}]"
        for finding in step.findings
        if finding.verdict is Verdict.INCORRECT
    ]
    return Flag(solution.id, step.step, solution.first_error, claims)


def score_arithmetic(folder: Path, source: str) -> Score:
    """Step arithmetic over one source."""
    score = Score(source)
    for solution in read_source(folder, source):
        score.add(solution, check_steps(solution.question, solution.steps))
    return score


def _print(scores: Sequence[Score], flags: bool) -> None:
    for score in scores:
        shown = score.summary()
        listed = shown.pop("flags")
        print("  ".join(f"{key}={value}" for key, value in shown.items()))
        if flags and isinstance(listed, list):
            for flag in listed:
                print("   ", json.dumps(flag, ensure_ascii=False))


def main() -> None:
    """Reads the arguments, scores, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--source", choices=sorted(SOURCES), action="append", help="default: all")
    parser.add_argument("--flags", action="store_true", help="list flags that people do not share")
    parser.add_argument("--json", action="store_true", help="one JSON object, flags included")
    arguments = parser.parse_args()
    scores = [score_arithmetic(arguments.data, s) for s in arguments.source or SOURCES]
    if arguments.json:
        print(json.dumps({"arithmetic": [s.summary() for s in scores]}, ensure_ascii=False))
    else:
        _print(scores, arguments.flags)


if __name__ == "__main__":
    main()

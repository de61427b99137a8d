"""How logic verdicts agree with the answers of four data sets.

    python benchmarks/verification_logic.py --data FOLDER [--source NAME ...] [--list] [--json]

FOLDER has `logic/prontoqa.jsonl`, `logic/proofwriter_depth5.jsonl`, `logic/logical_deduction.jsonl`
(as Logic-LM distributes them, the last with a constraint program in `raw_logic_programs`) and
`logic/folio_validation.jsonl` (as FOLIO does). Each source gives a table from what is known to the
verdicts with their reasons. `--list` names the rows where a verdict differs from what is known.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from stepmill.verifiers.claims import StepFindings
from stepmill.verifiers.logic.formulas import parse_fol
from stepmill.verifiers.logic.problems import Claim, LogicProblem, LogicStep, Premise
from stepmill.verifiers.logic.puzzles import PuzzleProgram, parse_program
from stepmill.verifiers.logic.reading import ParseError
from stepmill.verifiers.logic.steps import check_problem
from stepmill.verifiers.logic.structures import Structure, holds
from stepmill.verifiers.logic.syntax import Distinct
from stepmill.verifiers.logic.texts import english_problem, program_problem

REASONS = {"A": "entailed", "B": "refuted", "C": "not-entailed"}
"""What an answer means: true, false, unknown."""


@dataclass(slots=True)
class Table:
    """Verdicts on one source."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By what is known and the verdict's reason."""
    differ: list[str] = field(default_factory=list)
    """Rows with a verdict, not unknown, that differs from what is known."""

    def add(self, row: str, known: str, expected: str, step: StepFindings) -> None:
        """Count a verdict, and note the row if it differs from the expected reason."""
        reason = step.findings[0].reason if step.findings else step.reason
        self.counts[known, reason] += 1
        if step.verdict != "unknown" and reason != expected:
            self.differ.append(f"{row}: {known}, but {reason}")


def prontoqa(rows: Iterator[dict[str, Any]]) -> Table:
    """The gold chains and the statement asked about.

    Every step is judged from the whole context, and every derived one from the two before it.
    """
    table = Table()
    for row in rows:
        chain, asked = row["explanation"], row["question"].split("?", 1)[1].strip()
        *steps, answer = check_problem(english_problem(row["context"], [*chain, asked]))
        for step in steps:
            table.add(row["id"], "gold step", "entailed", step)
        table.add(row["id"], f"answer {row['answer']}", REASONS[row["answer"]], answer)
        for step in check_problem(_cited_chain(chain)):
            table.add(row["id"], "gold step, cited", "entailed", step)
    return table


def _cited_chain(chain: list[str]) -> LogicProblem:
    """A chain of fact, rule, fact, rule, fact …, each fact from the two before it."""
    derived = range(2, len(chain), 2)
    return LogicProblem(
        notation="english",
        premises=tuple(Premise(f"s{i}", t) for i, t in enumerate(chain) if i not in derived),
        steps=tuple(
            LogicStep((Claim(chain[i]),), (f"s{i - 2}", f"s{i - 1}"), f"s{i}") for i in derived
        ),
    )


def proofwriter(rows: Iterator[dict[str, Any]]) -> Table:
    """The statement asked about, by entailment and under the closed world.

    Under the latter what the data set calls unknown is false, and its negation true.
    """
    table = Table()
    for row in rows:
        asked = row["question"].split("?", 1)[1].strip()
        known = row["answer"]
        open_step = check_problem(english_problem(row["context"], [asked]))[0]
        table.add(row["id"], f"open world, {known}", REASONS[known], open_step)
        closed = english_problem(row["context"], [asked], closed_world=True)
        negated = " not " in asked
        expected = REASONS[known] if known != "C" else ("entailed" if negated else "refuted")
        table.add(row["id"], f"closed world, {known}", expected, check_problem(closed)[0])
    return table


def logical_deduction(rows: Iterator[dict[str, Any]]) -> Table:
    """Every option of the constraint programs, against exhaustive search.

    Whether the one option that follows is the gold answer depends on the program, and is counted
    apart.
    """
    table = Table()
    for row in rows:
        for text in row["raw_logic_programs"] or []:
            try:
                program = parse_program(text)
            except ParseError:
                table.counts["program", "not-parsed"] += 1
                continue
            truths = _exhaustive(program)
            steps = check_problem(program_problem(program))
            for (letter, reason), step in zip(truths.items(), steps, strict=True):
                table.add(f"{row['id']} {letter}", f"search: {reason}", reason, step)
            entailed = [letter for letter, reason in truths.items() if reason == "entailed"]
            agrees = "gold answer" if entailed == [row["answer"]] else "another or no answer"
            table.counts["program", agrees] += 1
    return table


def _exhaustive(program: PuzzleProgram) -> dict[str, str]:
    """The reason that each option should have, by going through all arrangements."""
    truths: dict[str, set[bool]] = {letter: set() for letter in program.options}
    for arrangement in _arrangements(program, {}):
        for letter, claim in program.options.items():
            truths[letter].add(holds(arrangement, claim.formula))
    reasons = {
        (): "vacuous-premises",
        (True,): "entailed",
        (False,): "refuted",
        (False, True): "not-entailed",
    }
    return {letter: reasons[tuple(sorted(seen))] for letter, seen in truths.items()}


def _arrangements(program: PuzzleProgram, chosen: dict[str, Fraction]) -> Iterator[Structure]:
    """All that extend the chosen values; a branch ends where a constraint on them is broken."""
    arrangement = Structure(("anyone",), numbers=chosen)
    for constraint in program.constraints:
        try:
            if not holds(arrangement, constraint.formula):
                return
        except KeyError:  # a variable of it has no value yet
            continue
    if len(chosen) == len(program.variables):
        yield arrangement
        return
    name = list(program.variables)[len(chosen)]
    for value in program.variables[name]:
        if not _taken(program, chosen, value):
            yield from _arrangements(program, {**chosen, name: Fraction(value)})


def _taken(program: PuzzleProgram, chosen: dict[str, Fraction], value: int) -> bool:
    """Whether a constraint that all values differ forbids one more use of this value."""
    everything = len(program.variables)
    distinct = any(
        isinstance(c.formula, Distinct) and len(c.formula.numbers) == everything
        for c in program.constraints
    )
    return distinct and value in chosen.values()


def folio(rows: Iterator[dict[str, Any]]) -> Table:
    """Formulas that are read, and conclusions from all premises."""
    table = Table()
    expected = {"True": "entailed", "False": "refuted", "Uncertain": "not-entailed"}
    for number, row in enumerate(rows, 1):
        texts = [*row["premises-FOL"], row["conclusion-FOL"]]
        table.counts.update(("formula", _read(text)) for text in texts)
        problem = LogicProblem(
            notation="fol",
            premises=tuple(Premise(f"p{i}", t) for i, t in enumerate(row["premises-FOL"])),
            steps=(LogicStep((Claim(row["conclusion-FOL"]),)),),
        )
        step = check_problem(problem)[0]
        table.add(f"row {number}", row["label"], expected[row["label"]], step)
    return table


def _read(formula: str) -> str:
    try:
        parse_fol(formula)
    except ParseError:
        return "not-parsed"
    return "parsed"


SOURCES: dict[str, tuple[str, Callable[[Iterator[dict[str, Any]]], Table]]] = {
    "prontoqa": ("prontoqa.jsonl", prontoqa),
    "proofwriter": ("proofwriter_depth5.jsonl", proofwriter),
    "logical_deduction": ("logical_deduction.jsonl", logical_deduction),
    "folio": ("folio_validation.jsonl", folio),
}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def main() -> None:
    """Reads the arguments, checks, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--source", choices=sorted(SOURCES), action="append", help="default: all")
    parser.add_argument("--list", action="store_true", help="name the rows that differ")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    tables = {
        name: SOURCES[name][1](_rows(arguments.data / "logic" / SOURCES[name][0]))
        for name in arguments.source or SOURCES
    }
    if arguments.json:
        shown = {
            name: {
                "counts": [[*key, n] for key, n in sorted(table.counts.items())],
                "differ": table.differ if arguments.list else len(table.differ),
            }
            for name, table in tables.items()
        }
        print(json.dumps(shown, ensure_ascii=False))
        return
    for name, table in tables.items():
        print(f"{name}: {len(table.differ)} differ")
        for (known, reason), n in sorted(table.counts.items()):
            print(f"  {known:24} {reason:24} {n}")
        for row in table.differ if arguments.list else []:
            print(f"  {row}")


if __name__ == "__main__":
    main()

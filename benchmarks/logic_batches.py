"""Work for the throughput of logic verdicts: chains of rules and ordering puzzles, made here.

Each has one incremental solver. Texts are read before the clock starts. Of a chain all claims
follow, of a puzzle of five things one in five does.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from stepmill.verifiers.logic.english import parse_english
from stepmill.verifiers.logic.entailment import Entailment
from stepmill.verifiers.logic.puzzles import parse_puzzle
from stepmill.verifiers.logic.solver import IncrementalSolver, SolverLimits
from stepmill.verifiers.logic.syntax import Formula
from stepmill.verifiers.logic.translation import Translator

_KINDS = ["wumpus", "tumpus", "dumpus", "rompus", "numpus", "impus", "zumpus", "vumpus"]
_PLACES = range(1, 6)

Argument = tuple[Sequence[str], Sequence[str]]
"""Premises and claims."""


def chain() -> Argument:
    """Eight kinds, each in the next, with a property each; claims about one individual."""
    rules = [f"Every {a} is a {b}." for a, b in pairwise(_KINDS)]
    traits = [f"Every {kind} is like{kind}." for kind in _KINDS]
    claims = [f"Max is a {kind}." for kind in _KINDS] + [f"Max is like{kind}." for kind in _KINDS]
    return [*rules, *traits, f"Max is a {_KINDS[0]}."], claims


def puzzle() -> Argument:
    """Five things in five places, all of them fixed; every thing is claimed in every place."""
    ranges = [f"1 <= {thing} <= 5" for thing in "abcde"]
    stated = ["distinct(a, b, c, d, e)", "a < b", "b < c", "just_left_of(c, d)", "e = 5"]
    return [*ranges, *stated], [f"{thing} = {place}" for thing in "abcde" for place in _PLACES]


def prepared(
    argument: Argument, read: Callable[[str], Formula], integers: Sequence[str] = ()
) -> tuple[int, Callable[[], None]]:
    """The number of claims, and a function that judges each of them from all premises.

    Each run makes a new solver and gives it the premises: Z3 must not live on what it learned from
    the same claims before.
    """
    premises = {f"p{i}": read(premise) for i, premise in enumerate(argument[0])}
    claims = [read(claim) for claim in argument[1]]

    def run() -> None:
        judge = Entailment(Translator(integers), IncrementalSolver(SolverLimits()))
        for label, premise in premises.items():
            judge.add(label, premise)
        for claim in claims:
            judge.check(claim, premises)

    return len(claims), run


def chain_verdicts() -> tuple[int, Callable[[], None]]:
    """Claims that follow by up to eight rules."""
    return prepared(chain(), parse_english)


def puzzle_verdicts() -> tuple[int, Callable[[], None]]:
    """Claims on places, most of them refuted."""
    return prepared(puzzle(), parse_puzzle, "abcde")

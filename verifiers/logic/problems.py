"""What is checked: a problem's premises and the steps of an argument from them, as texts.

A step has claims and names the premises and earlier steps that it cites. Texts are in one notation
per problem. The readers of whole texts are in texts.py; the checking is in steps.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from stepmill.registry import Registry
from stepmill.verifiers.logic.english import parse_english
from stepmill.verifiers.logic.formulas import parse_fld, parse_fol
from stepmill.verifiers.logic.linear import parse_linear
from stepmill.verifiers.logic.puzzles import parse_puzzle
from stepmill.verifiers.logic.smtlib import SmtTerm, parse_term
from stepmill.verifiers.logic.syntax import Formula

NOTATIONS: Registry[Callable[[str], Formula | SmtTerm]] = Registry("logic notation")
"""Readers of one formula or sentence; each raises ParseError and nothing else."""

NOTATIONS.register("fld")(parse_fld)
NOTATIONS.register("fol")(parse_fol)
NOTATIONS.register("english")(parse_english)
NOTATIONS.register("linear")(parse_linear)
NOTATIONS.register("puzzle")(parse_puzzle)
NOTATIONS.register("smt-lib")(parse_term)


@dataclass(frozen=True, slots=True)
class Premise:
    """What may be cited."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A formula or sentence within a step."""

    text: str
    start: int = 0
    """Where it begins in its step's text; 0 when the step only refers to it (`hypothesis`)."""


@dataclass(frozen=True, slots=True)
class LogicStep:
    """One step of an argument."""

    claims: tuple[Claim, ...]
    cites: tuple[str, ...] | None = None
    """Labels of premises and earlier steps. None: it may rest on every premise of the problem."""
    label: str = ""
    """By which later steps cite it; empty when none does."""
    assumes: bool = False
    """The step only assumes what it claims (`assump1`); there is nothing to check."""


@dataclass(frozen=True, slots=True)
class LogicProblem:
    """Premises, and steps that argue from them."""

    notation: str
    """A name in `NOTATIONS`."""
    premises: tuple[Premise, ...]
    steps: tuple[LogicStep, ...]
    closed_world: bool = False
    """What the premises (facts and rules) do not prove is false."""
    integers: tuple[str, ...] = ()
    """Named numbers that are whole; the others are real."""
    declarations: str = ""
    """For `smt-lib`: the declarations and definitions that all texts share."""
    complete: bool = True
    """Whether the premises are all there are. If not, nothing is called `not-entailed`."""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def problem_from_dict(data: Mapping[str, Any]) -> LogicProblem:
    """The problem that `as_dict` wrote."""
    steps = tuple(
        LogicStep(
            claims=tuple(Claim(**claim) for claim in step["claims"]),
            cites=None if step["cites"] is None else tuple(step["cites"]),
            label=step["label"],
            assumes=step["assumes"],
        )
        for step in data["steps"]
    )
    return LogicProblem(
        notation=data["notation"],
        premises=tuple(Premise(**premise) for premise in data["premises"]),
        steps=steps,
        closed_world=data["closed_world"],
        integers=tuple(data["integers"]),
        declarations=data["declarations"],
        complete=data["complete"],
    )

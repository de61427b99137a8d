"""The closed world of rules and facts: what they do not prove is false.

Premises must be facts and rules: `conditions -> literals`, all variables universal. The individuals
are those named. Negation in a condition is failure to prove; its meaning is the well-founded model
(Van Gelder, Ross and Schlipf, 1991), by the alternating fixpoint, which is exact and, for the
stratified rules of ProofWriter (Tafjord et al., 2021), the one that data set means. Where a rule
hangs on its own failure some atoms stay undefined, and so does every claim. A rule or fact that
ends in a negation adds nothing; one that contradicts the model is reported.

A step that cites some of the premises is judged by entailment, with the false atoms of the model as
further premises.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stepmill.verifiers.logic.structures import Structure
from stepmill.verifiers.logic.syntax import (
    And,
    Atom,
    Const,
    ForAll,
    Formula,
    Implies,
    Not,
    Term,
    Var,
    subformulas,
    terms,
)

MAX_GROUND_RULES = 20_000
MAX_FALSE_ATOMS = 2_000


class ClosedWorldError(Exception):
    """Raised when premises have no closed world.

    The message is the reason of an unknown verdict: `not-rules`, `too-large`, `vacuous-premises` or
    `undefined-under-closed-world`.
    """


@dataclass(frozen=True, slots=True)
class _Rule:
    """`needs` and not `lacks` give `head`; `negative` for one that ends in a negation."""

    head: Atom
    needs: tuple[Atom, ...]
    lacks: tuple[Atom, ...]
    negative: bool


def closed_world(premises: Sequence[Formula], claims: Iterable[Formula] = ()) -> Structure:
    """The one model of facts and rules in which nothing is true without a proof.

    Args:
        premises: all facts and rules of the problem, not only those that a step cites.
        claims: what will be asked of the model; their names belong to the world too.

    Raises:
        ClosedWorldError: there is no such model; the message is the reason.
    """
    claims = list(claims)
    names = {t.name for f in (*premises, *claims) for t in terms(f) if isinstance(t, Const)}
    individuals = tuple(sorted(names)) or ("someone",)
    rules: list[_Rule] = []
    for premise in premises:
        rules.extend(_ground(premise, individuals))
        if len(rules) > MAX_GROUND_RULES:
            raise ClosedWorldError("too-large")
    positive = [rule for rule in rules if not rule.negative]
    proved: frozenset[Atom] = frozenset()
    while True:
        possible = _least_model(positive, proved)
        more = _least_model(positive, possible)
        if more == proved:
            break
        proved = more
    if possible != proved:
        raise ClosedWorldError("undefined-under-closed-world")
    if any(_fires(rule, proved, proved) and rule.head in proved for rule in rules if rule.negative):
        raise ClosedWorldError("vacuous-premises")
    return _structure(individuals, proved, [*premises, *claims])


def false_atoms(world: Structure, formulas: Iterable[Formula]) -> list[Formula]:
    """Negations of the ground atoms that are false in a closed world.

    Args:
        world: from `closed_world`.
        formulas: only atoms of the predicates in these are given.

    Raises:
        ClosedWorldError: they are too many.
    """
    arities = _arities(formulas)
    if sum(len(world.individuals) ** arity for arity in arities.values()) > MAX_FALSE_ATOMS:
        raise ClosedWorldError("too-large")
    return [
        Not(Atom(predicate, tuple(map(Const, args))))
        for predicate, arity in sorted(arities.items())
        for args in itertools.product(world.individuals, repeat=arity)
        if args not in world.relations[predicate]
    ]


def _least_model(rules: Sequence[_Rule], assumed: frozenset[Atom]) -> frozenset[Atom]:
    """All that follows when a negation holds exactly if its atom is not among `assumed`."""
    usable = [rule for rule in rules if assumed.isdisjoint(rule.lacks)]
    found: set[Atom] = set()
    waiting: dict[Atom, list[int]] = {}
    missing = []
    ready = []
    for i, rule in enumerate(usable):
        needs = set(rule.needs)
        missing.append(len(needs))
        for need in needs:
            waiting.setdefault(need, []).append(i)
        if not needs:
            ready.append(rule.head)
    while ready:
        atom = ready.pop()
        if atom in found:
            continue
        found.add(atom)
        for i in waiting.get(atom, ()):
            missing[i] -= 1
            if not missing[i]:
                ready.append(usable[i].head)
    return frozenset(found)


def _fires(rule: _Rule, true: frozenset[Atom], possible: frozenset[Atom]) -> bool:
    return true.issuperset(rule.needs) and possible.isdisjoint(rule.lacks)


def _ground(premise: Formula, individuals: tuple[str, ...]) -> list[_Rule]:
    """The rules of a premise for all individuals."""
    variables = []
    body = premise
    while isinstance(body, ForAll):
        variables.append(body.variable)
        body = body.body
    conditions, conclusions = (
        (_literals(body.left), _literals(body.right))
        if isinstance(body, Implies)
        else ([], _literals(body))
    )
    needs = [atom for atom, negative in conditions if not negative]
    lacks = [atom for atom, negative in conditions if negative]
    if len(individuals) ** len(variables) * len(conclusions) > MAX_GROUND_RULES:
        raise ClosedWorldError("too-large")
    rules = []
    for chosen in itertools.product(individuals, repeat=len(variables)):
        values = dict(zip(variables, chosen, strict=True))
        for head, negative in conclusions:
            rules.append(
                _Rule(
                    _instance(head, values),
                    tuple(_instance(atom, values) for atom in needs),
                    tuple(_instance(atom, values) for atom in lacks),
                    negative,
                )
            )
    return rules


def _literals(formula: Formula) -> list[tuple[Atom, bool]]:
    """The atoms of a conjunction, each with whether it is negated."""
    match formula:
        case Atom():
            return [(formula, False)]
        case Not(Atom() as atom):
            return [(atom, True)]
        case And(parts):
            return [literal for part in parts for literal in _literals(part)]
    raise ClosedWorldError("not-rules")


def _instance(atom: Atom, values: dict[str, str]) -> Atom:
    def individual(term: Term) -> Term:
        if isinstance(term, Var):
            return Const(values[term.name])
        if isinstance(term, Const):
            return term
        raise ClosedWorldError("not-rules")

    return Atom(atom.predicate, tuple(map(individual, atom.args)))


def _structure(
    individuals: tuple[str, ...], proved: frozenset[Atom], formulas: Sequence[Formula]
) -> Structure:
    relations: dict[str, set[tuple[str, ...]]] = {name: set() for name in _arities(formulas)}
    for atom in proved:
        row = tuple(arg.name for arg in atom.args if isinstance(arg, Const))
        relations[atom.predicate].add(row)
    return Structure(
        individuals=individuals,
        constants={name: name for name in individuals},
        relations={name: frozenset(rows) for name, rows in sorted(relations.items())},
    )


def _arities(formulas: Iterable[Formula]) -> dict[str, int]:
    return {
        inner.predicate: len(inner.args)
        for formula in formulas
        for inner in subformulas(formula)
        if isinstance(inner, Atom)
    }

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import strategies as st

from stepmill.verifiers.logic.syntax import (
    And,
    Apply,
    Atom,
    Const,
    Equal,
    Exists,
    ForAll,
    Iff,
    Implies,
    Not,
    Or,
    Var,
    Xor,
)

EXCERPTS = Path(__file__).parent / "data" / "excerpts.jsonl"
ARITIES = {"P": 0, "Q": 1, "R": 2}


@pytest.fixture(scope="session")
def excerpts():
    """Rows of a public data set by its name; data/README.md says whose."""
    rows = [json.loads(line) for line in EXCERPTS.read_text().splitlines()]
    return lambda source: [row for row in rows if row["source"] == source]


def formulas(*, functions=True):
    """Closed first-order formulas over a few names, as the readers make them."""

    def terms(bound):
        names = st.sampled_from(["a", "b", "c"]).map(Const)
        known = st.one_of(names, *[st.just(Var(name)) for name in bound])
        if not functions:
            return known
        return st.one_of(known, known.map(lambda term: Apply("f", (term,))))

    def atoms(bound):
        plain = st.sampled_from(sorted(ARITIES)).flatmap(
            lambda name: st.tuples(*[terms(bound)] * ARITIES[name]).map(
                lambda args: Atom(name, args)
            )
        )
        return st.one_of(plain, st.builds(Equal, terms(bound), terms(bound)))

    def closed(depth, bound):
        if not depth:
            return atoms(bound)
        inner = closed(depth - 1, bound)
        pairs = [st.builds(kind, inner, inner) for kind in (Implies, Iff, Xor)]
        lists = [st.builds(kind, st.tuples(inner, inner)) for kind in (And, Or)]
        variable = f"x{depth}"
        body = closed(depth - 1, (*bound, variable))
        quantified = [st.builds(kind, st.just(variable), body) for kind in (ForAll, Exists)]
        return st.one_of(atoms(bound), st.builds(Not, inner), *pairs, *lists, *quantified)

    return closed(3, ())


@pytest.fixture(scope="session")
def formula_strategy():
    return formulas


@pytest.fixture(scope="session")
def pigeons():
    """Premises that say of `holes + 1` pigeons that each is in a hole of its own: no model has
    that, and from a dozen on Z3 takes minutes to see it."""

    def premises(holes):
        birds = range(holes + 1)
        homes = ["(" + " ∨ ".join(f"P{p}h{h}" for h in range(holes)) + ")" for p in birds]
        alone = [
            f"¬(P{p}h{h} ∧ P{q}h{h})"
            for h in range(holes)
            for p, q in itertools.combinations(birds, 2)
        ]
        return [*homes, *alone]

    return premises

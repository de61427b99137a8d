"""The verdict on one claim from the premises it cites."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmill.records import Verdict
from stepmill.verifiers.logic.entailment import Entailment
from stepmill.verifiers.logic.formulas import parse_fld, parse_fol
from stepmill.verifiers.logic.linear import parse_linear
from stepmill.verifiers.logic.reading import ParseError
from stepmill.verifiers.logic.smtlib import parse_term
from stepmill.verifiers.logic.solver import IncrementalSolver, SolverLimits
from stepmill.verifiers.logic.structures import Structure, holds
from stepmill.verifiers.logic.syntax import And, Atom, Iff, Implies, Not, Or, Xor
from stepmill.verifiers.logic.translation import Translator

CORRECT, INCORRECT, UNKNOWN = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNKNOWN

FLD_FACTS = [
    "(x): ¬{D}x -> ({A}x & {C}x)",
    "¬({B}{a} & ¬{A}{a})",
    "¬{AB}{b} -> ¬{C}{d}",
    "¬{C}{a} -> ¬{A}{d}",
    "¬{A}{a}",
    "({AB}{c} & ¬{B}{c}) -> {C}{d}",
    "¬({F}{b} v {D}{b}) -> ¬{D}{a}",
    "{A}{a} -> ({AB}{c} & ¬{B}{c})",
    "({AB}{c} & ¬{AA}{c}) -> {B}{b}",
    "({AB}{c} & ¬{B}{c}) -> {C}{b}",
]


def entailment(limits=None, **options):
    return Entailment(Translator(**options), IncrementalSolver(limits or SolverLimits()))


def rule(premises, claim, parse=parse_fol, limits=None, **options):
    judge = entailment(limits, **options)
    for i, premise in enumerate(premises):
        judge.add(f"p{i}", parse(premise))
    return judge.check(parse(claim), [f"p{i}" for i in range(len(premises))])


def test_a_claim_that_follows_is_correct_with_the_premises_used():
    ruling = rule(["∀x (Cat(x) → Kind(x))", "Red(tom)", "Cat(tom)"], "Kind(tom)")
    assert (ruling.verdict, ruling.reason, ruling.core) == (CORRECT, "entailed", ("p0", "p2"))


def test_a_claim_that_contradicts_its_premises_is_refuted():
    ruling = rule(["∀x (Cat(x) → Kind(x))", "Cat(tom)"], "¬Kind(tom)")
    assert (ruling.verdict, ruling.reason) == (INCORRECT, "refuted")


def test_a_claim_that_need_not_hold_is_refused_with_a_counter_model():
    premises = ["∃x A(x)", "∃x B(x)"]
    ruling = rule(premises, "∃x (A(x) ∧ B(x))")
    assert (ruling.verdict, ruling.reason) == (INCORRECT, "not-entailed")
    assert ruling.counter_model is not None
    assert len(ruling.counter_model.individuals) >= 2
    assert all(holds(ruling.counter_model, parse_fol(premise)) for premise in premises)
    assert not holds(ruling.counter_model, parse_fol("∃x (A(x) ∧ B(x))"))


def test_premises_that_contradict_each_other_prove_nothing():
    ruling = rule(["A", "¬A"], "B")
    assert (ruling.verdict, ruling.reason) == (UNKNOWN, "vacuous-premises")


def test_a_claim_that_is_always_true_needs_no_premise():
    assert rule([], "A ∨ ¬A").verdict is CORRECT


def test_two_names_may_mean_one_individual():
    assert rule(["P(a)"], "¬(a = b)").reason == "not-entailed"
    assert rule(["P(a)", "a = b"], "P(b)").verdict is CORRECT


def test_functions_are_applied():
    assert rule(["∀x P(f(x))"], "P(f(f(a)))").verdict is CORRECT
    ruling = rule(["P(f(a))"], "P(a)")
    assert ruling.reason == "not-entailed"
    assert ruling.counter_model is not None
    assert ruling.counter_model.functions["f"]


def test_only_what_is_cited_counts():
    judge = entailment()
    for label, premise in (("p", "A"), ("q", "A → B"), ("r", "¬A")):
        judge.add(label, parse_fol(premise))
    assert judge.check(parse_fol("B"), ["p", "q"]).verdict is CORRECT
    assert judge.check(parse_fol("B"), ["q"]).reason == "not-entailed"
    assert judge.check(parse_fol("B"), ["p", "q", "r"]).reason == "vacuous-premises"
    assert judge.check(parse_fol("B"), ["p", "q"]).verdict is CORRECT


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("({AB}{c} & ¬{B}{c})", "not-entailed"),
        ("{D}{a}", "entailed"),
        ("¬{B}{a}", "entailed"),
        ("{A}{a}", "refuted"),
    ],
)
def test_an_fld_example_has_the_verdicts_that_it_was_made_with(claim, reason):
    assert rule(FLD_FACTS, claim, parse_fld).reason == reason


def test_linear_constraints_are_exact():
    assert rule(["2x + 3y = 12", "x = 3"], "y = 2", parse_linear).verdict is CORRECT
    assert rule(["3x = 1"], "x = 0.3333333333", parse_linear).reason == "refuted"
    ruling = rule(["x + y = 1"], "x < 1", parse_linear)
    assert ruling.reason == "not-entailed"
    assert ruling.counter_model is not None
    assert sum(ruling.counter_model.numbers.values()) == 1


def test_a_whole_number_lies_between_no_two_neighbours():
    premises = ["x > 1", "x < 3"]
    assert rule(premises, "x = 2", parse_linear, integers=["x"]).verdict is CORRECT
    assert rule(premises, "x = 2", parse_linear).reason == "not-entailed"


def test_a_name_with_two_numbers_of_arguments_is_refused():
    judge = entailment()
    judge.add("p", parse_fol("P(a)"))
    with pytest.raises(ParseError, match="'P' has 1 arguments and 2"):
        judge.check(parse_fol("P(a, b)"), ["p"])


@pytest.mark.parametrize(
    "limits",
    [SolverLimits(check_ms=100), SolverLimits(check_steps=200_000), SolverLimits(problem_ms=0)],
)
def test_a_solver_that_gives_up_says_nothing(limits, pigeons):
    ruling = rule(pigeons(11), "A", limits=limits)
    assert (ruling.verdict, ruling.reason) == (UNKNOWN, "time-out")


def test_a_question_that_was_given_up_does_not_disturb_the_next(pigeons):
    judge = entailment(SolverLimits(check_ms=100))
    for i, premise in enumerate(pigeons(11)):
        judge.add(f"p{i}", parse_fol(premise))
    judge.add("q", parse_fol("A"))
    assert (
        judge.check(parse_fol("B"), [f"p{i}" for i in range(len(pigeons(11)))]).verdict is UNKNOWN
    )
    assert judge.check(parse_fol("A"), ["q"]).verdict is CORRECT


def test_smt_lib_terms_are_judged_with_z3s_own_reader():
    options = {"declarations": "(declare-const x Int) (declare-const y Int)"}
    premises = ["(= (+ x y) 10)", "(> x 7)"]
    assert rule(premises, "(< y 3)", parse_term, **options).verdict is CORRECT
    ruling = rule(premises, "(= x 8)", parse_term, **options)
    assert ruling.reason == "not-entailed"
    assert "x" in ruling.model_text


@pytest.mark.parametrize("claim", ["(< z 3)", "x", "(+ x 1)", "(< x", "(foo x)"])
def test_a_term_that_z3_refuses_is_a_parse_error(claim):
    with pytest.raises(ParseError):
        rule([], claim, parse_term, declarations="(declare-const x Int)")


def propositions():
    atoms = st.sampled_from("ABC").map(Atom)
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds(Not, inner),
            *[st.builds(kind, inner, inner) for kind in (Implies, Iff, Xor)],
            *[st.builds(kind, st.tuples(inner, inner)) for kind in (And, Or)],
        ),
        max_leaves=6,
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(propositions(), max_size=3), st.lists(propositions(), min_size=1, max_size=4))
def test_verdicts_on_propositions_are_those_of_the_truth_table(premises, claims):
    table = [
        Structure(("anyone",), relations={n: frozenset({()} if t else ()) for n, t in row.items()})
        for row in (dict(zip("ABC", ts, strict=True)) for ts in itertools.product((0, 1), repeat=3))
    ]
    rows = [row for row in table if all(holds(row, premise) for premise in premises)]
    judge = entailment()
    for i, premise in enumerate(premises):
        judge.add(f"p{i}", premise)
    for claim in claims:
        truths = {holds(row, claim) for row in rows}
        expected = {
            frozenset(): "vacuous-premises",
            frozenset({True}): "entailed",
            frozenset({False}): "refuted",
            frozenset({True, False}): "not-entailed",
        }[frozenset(truths)]
        assert judge.check(claim, [f"p{i}" for i in range(len(premises))]).reason == expected


def test_a_formula_never_follows_beside_a_counter_model(formula_strategy):
    """The structure that comes with a verdict is evaluated here once more."""

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(formula_strategy(functions=False), max_size=2), formula_strategy(functions=False)
    )
    def check(premises, claim):
        judge = entailment(SolverLimits(check_ms=300))
        for i, premise in enumerate(premises):
            judge.add(f"p{i}", premise)
        ruling = judge.check(claim, [f"p{i}" for i in range(len(premises))])
        if ruling.counter_model is None:
            assert ruling.verdict is not INCORRECT
            return
        assert all(holds(ruling.counter_model, premise) for premise in premises)
        assert not holds(ruling.counter_model, claim)

    check()

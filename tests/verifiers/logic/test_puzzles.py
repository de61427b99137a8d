"""Ordering puzzles, judged by Z3 and by going through every arrangement."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmill.records import Verdict
from stepmill.verifiers.logic.puzzles import RELATIONS, parse_program, parse_puzzle
from stepmill.verifiers.logic.reading import ParseError
from stepmill.verifiers.logic.steps import check_problem
from stepmill.verifiers.logic.structures import Structure, holds
from stepmill.verifiers.logic.texts import program_problem

PROGRAM = """Domain:
1: leftmost
3: rightmost
Variables:
red_book [IN] [1, 2, 3]
blue_book [IN] [1, 2, 3]
old_book [IN] [1, 2, 3]
Constraints:
red_book < blue_book ::: The red book is left of the blue book.
old_book == 1
AllDifferentConstraint([red_book, blue_book, old_book]) ::: All books have different places.
Query:
A) red_book == 1 ::: The red book is the leftmost.
B) red_book == 2 ::: The red book is the second from the left.
"""


def by_exhaustive_search(program):
    """The verdict on each option by going through all arrangements: sure, since nothing is left
    out and each constraint is evaluated on plain numbers."""
    names = list(program.variables)
    arrangements = [
        Structure(("anyone",), numbers=dict(zip(names, values, strict=True)))
        for values in itertools.product(*program.variables.values())
    ]
    allowed = [s for s in arrangements if all(holds(s, c.formula) for c in program.constraints)]
    verdicts = {}
    for letter, claim in program.options.items():
        truths = {holds(arrangement, claim.formula) for arrangement in allowed}
        verdicts[letter] = {
            frozenset(): (Verdict.UNKNOWN, "vacuous-premises"),
            frozenset({True}): (Verdict.CORRECT, "entailed"),
            frozenset({False}): (Verdict.INCORRECT, "refuted"),
            frozenset({True, False}): (Verdict.INCORRECT, "not-entailed"),
        }[frozenset(truths)]
    return verdicts


def by_z3(program):
    steps = check_problem(program_problem(program))
    return {
        letter: (step.verdict, step.findings[0].reason)
        for letter, step in zip(program.options, steps, strict=True)
    }


def test_a_program_is_read_line_by_line():
    program = parse_program(PROGRAM)
    assert program.positions == {1: "leftmost", 3: "rightmost"}
    assert program.variables["red_book"] == (1, 2, 3)
    assert [c.text for c in program.constraints][:2] == ["red_book < blue_book", "old_book == 1"]
    assert program.constraints[0].meaning == "The red book is left of the blue book."
    assert program.options["B"].text == "red_book == 2"


def test_each_option_of_a_program_is_judged():
    assert by_z3(parse_program(PROGRAM)) == {
        "A": (Verdict.INCORRECT, "refuted"),
        "B": (Verdict.CORRECT, "entailed"),
    }


def test_programs_of_a_data_set_are_judged_as_by_exhaustive_search(excerpts):
    for row in excerpts("logical_deduction"):
        program = parse_program(row["raw_logic_programs"][0])
        assert by_z3(program) == by_exhaustive_search(program), row["id"]


_things = st.sampled_from(["a", "b", "c", "d"])
_lines = st.one_of(
    st.builds("{} {} {}".format, _things, st.sampled_from(["<", ">", "==", "!="]), _things),
    st.builds("{} == {}".format, _things, st.integers(1, 4)),
    st.builds("{} < {} + {}".format, _things, _things, st.integers(-2, 2)),
    st.builds("next_to({}, {})".format, _things, _things),
    st.builds("between({}, {}, {})".format, _things, _things, _things),
    st.builds("not just_left_of({}, {})".format, _things, _things),
    st.builds("nth_from_right({}, {}, 4)".format, _things, st.integers(1, 4)),
    st.builds("distinct({}, {})".format, _things, _things),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_lines, max_size=5), st.lists(_lines, min_size=1, max_size=3))
def test_any_puzzle_is_judged_as_by_exhaustive_search(constraints, claims):
    options = "\n".join(f"{chr(65 + i)}) {claim}" for i, claim in enumerate(claims))
    variables = "\n".join(f"{name} [IN] [1, 2, 4]" for name in "abcd")
    program = parse_program(
        f"Variables:\n{variables}\nConstraints:\n" + "\n".join(constraints) + f"\nQuery:\n{options}"
    )
    assert by_z3(program) == by_exhaustive_search(program)


@pytest.mark.parametrize(
    ("claim", "order"),
    [
        ("left_of(a, b)", "abc"),
        ("right_of(b, a)", "acb"),
        ("just_left_of(a, b)", "abc"),
        ("just_right_of(c, b)", "abc"),
        ("next_to(b, a)", "abc"),
        ("between(b, a, c)", "cba"),
        ("ordered(a, b, c)", "abc"),
        ("distinct(a, b, c)", "bac"),
        ("nth_from_left(a, 2)", "bac"),
        ("nth_from_right(a, 1, 3)", "bca"),
    ],
)
def test_a_relation_holds_in_the_order_that_it_describes(claim, order):
    structure = Structure(("anyone",), numbers={n: Fraction(order.index(n) + 1) for n in order})
    assert holds(structure, parse_puzzle(claim))


def test_a_relation_fails_in_another_order():
    structure = Structure(("anyone",), numbers={n: Fraction("acb".index(n) + 1) for n in "abc"})
    for claim in ("next_to(a, b)", "between(b, a, c)", "left_of(b, c)", "just_left_of(a, b)"):
        assert not holds(structure, parse_puzzle(claim))


@pytest.mark.parametrize("relation", sorted(RELATIONS))
def test_a_relation_with_too_few_positions_is_refused(relation):
    with pytest.raises(ParseError, match="takes"):
        parse_puzzle(f"{relation}(a)")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("old_book == 1", "new_book == 1", "no variable"),
        ("old_book == 1", "old_book is 1", "sign"),
        ("1: leftmost", "leftmost", "position"),
        ("red_book [IN] [1, 2, 3]", "red_book in 1, 2, 3", "IN"),
        ("red_book [IN] [1, 2, 3]", "red_book [IN] [1, -, 3]", "integers"),
        ("old_book [IN] [1, 2, 3]", "red_book [IN] [1, 2, 3]", "twice"),
        ("A) red_book", "A: red_book", "constraint"),
        ("Domain:", "Preface\nDomain:", "before the first"),
    ],
)
def test_a_broken_program_is_refused(old, new, reason):
    with pytest.raises(ParseError, match=reason):
        parse_program(PROGRAM.replace(old, new, 1))


@given(st.one_of(st.text(), st.lists(st.sampled_from(PROGRAM.splitlines())).map("\n".join)))
def test_any_program_is_read_or_refused(text):
    try:
        parse_program(text)
    except ParseError:
        return

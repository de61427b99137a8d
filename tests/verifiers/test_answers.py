"""Answer equality as a whole: the table of pairs, known faults of other checkers, hostile input.

The table's rows marked ambiguous depend on the policy; the defaults give the table's verdict.
"""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepmill.verifiers.answers.decisions import NEEDS_ALGEBRA
from stepmill.verifiers.answers.equivalence import Equivalence

TABLE = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "answer_pairs.jsonl").read_text().splitlines()
]
SAME, DIFFERENT = True, False

PEERS = [
    # complaints about other checkers: 1 tiny values
    (r"\frac{1}{2004!}", r"\frac{1}{2006!}", DIFFERENT),
    (r"\frac{1}{2^{99}}", r"\frac{1}{2^{98}}", DIFFERENT),
    ("0.0000001", "0.0000002", DIFFERENT),
    ("0.001", "0.0010001", DIFFERENT),
    # 2 order of the arguments
    ("(0,12.5)", "0<x<12.5", SAME),
    ("0<x<12.5", "(0,12.5)", SAME),
    (r"x \in [-2,7]", r"-2 \le x \le 7", SAME),
    # 5 the last number of a long text
    ("73", "234 apples in all. " * 40 + "Final Answer: **73**", SAME),
    # 6 choices and words
    ("B", r"$\boxed{B}$", SAME),
    ("B", r"\boxed{B}", SAME),
    ("B", r"\text{(B)}", SAME),
    ("Tuesday", r"\text{Tuesday}", SAME),
    ("cat", "act", DIFFERENT),
    # 7 plain text
    ("pi/2", r"\frac{\pi}{2}", SAME),
    ("-1+exp(16)", "e^{16}-1", SAME),
    ("-2*pi", r"-2\pi", SAME),
    # 8 units and separators
    (r"5\text{ cm}", r"5\text{ m}", DIFFERENT),
    ("(0,1)", r"\{0,1\}", DIFFERENT),
    ("4", r"4\sqrt(2)", DIFFERENT),
    ("50%", "0.5", SAME),
    ("50%", "5", DIFFERENT),
    ("1000", "1 000", SAME),
    ("10000", r"10\,000", SAME),
    ("1500", "1.5e3", SAME),
    # 9 a part is not the whole
    ("3*x-1*y+13=0", "3x+4y+14=0", DIFFERENT),
    ("y=2x+1", "y=2x-1", DIFFERENT),
    # and of graders that take a hundredth for the whole
    ("0.05", "5", DIFFERENT),
    ("500", "5", DIFFERENT),
    ("12", "1200", DIFFERENT),
]

HOSTILE = [
    "$9^{9^9}$", "9**9**9", "$10^{10^{10}}$", "$9^{9^{9^9}}$", "2**30**5",
    "$100000!$", "$1000000!$", "$10000000!$", "$99999999999!$", "3!!!!!!!!!",
    r"$\binom{1000000}{500000}$", "(" * 200 + "1" + ")" * 200, "(" * 1000 + "1" + ")" * 1000,
    r"\frac{1}{" * 100 + "2" + "}" * 100, r"\sqrt{" * 300 + "2" + "}" * 300,
    "+".join(["x"] * 3000), r"\int", r"\sum_{n=1}^{100000000} n^{-2}",
    r"\prod_{n=1}^{1000000} n", "7" * 100_000, r"\boxed{" * 500 + "1" + "}" * 500, "{" * 50_000,
    "$" * 20_000, "word " * 200_000, r"\int_0^{\infty} e^{-x^{x}} \sin(x^3) dx",
    "__import__('os').system('true')",
]  # fmt: skip


@pytest.fixture(scope="module")
def equivalence():
    with_pool = Equivalence(workers=2)
    yield with_pool
    with_pool.close()


FORMS = Equivalence(workers=0)
"""Exact forms alone."""


def row_name(row):
    return f"{row['category']}-{row['id']}"


@pytest.mark.parametrize("row", TABLE, ids=row_name)
def test_the_table_of_pairs_is_right_either_way_round(equivalence, row):
    pairs = [(row["gold"], row["prediction"]), (row["prediction"], row["gold"])]
    assert [d.same for d in equivalence.decide_all(pairs)] == [row["equivalent"]] * 2


def test_the_table_needs_no_computer_algebra():
    found = [FORMS.decide_here(row["gold"], row["prediction"]) for row in TABLE]
    assert [row["id"] for row, d in zip(TABLE, found, strict=True) if d.same is None] == []


@pytest.mark.parametrize(("gold", "prediction", "same"), PEERS)
def test_known_faults_of_other_checkers_are_not_ours(equivalence, gold, prediction, same):
    found = equivalence.decide_all([(gold, prediction), (prediction, gold)])
    assert [d.same for d in found] == [same, same]


@pytest.mark.slow
def test_hostile_answers_end_unknown_and_harm_no_other(equivalence):
    quick = Equivalence(workers=2, time_limit_s=3.0)
    good = [(f"{n}", f"{n}.0") for n in range(100)]
    good += [(rf"\int_0^1 {n}x\,dx", rf"\frac{{{n}}}{{2}}") for n in range(1, 101)]  # by the pool

    async def all_at_once():
        return await asyncio.gather(
            *(quick.decide("1", answer) for answer in HOSTILE), *(quick.decide(*g) for g in good)
        )

    found = asyncio.run(all_at_once())
    quick.close()
    unknown = {d.reason for d in found[: len(HOSTILE)]}
    assert [d.same for d in found[: len(HOSTILE)]] == [None] * len(HOSTILE)
    assert unknown == {"too-large", "time-out", "unparsed"}
    assert [d.same for d in found[len(HOSTILE) :]] == [True] * len(good)


@pytest.mark.parametrize("answer", ["(x+1)^{500}(x+2)^{500}", "(x+y+z+w)^{60}", "2^{10000}"])
def test_what_is_large_but_bounded_is_decided(answer):
    assert FORMS.decide_here("1", answer).same is False


PIECES = [
    r"\frac", r"\sqrt", "{", "}", "(", ")", "[", "]", "|", "^", "_", "1", "23", "0", "0.5", "x",
    "y", "i", "e", "π", "+", "-", "*", "/", "=", "<", "≤", r"\le", r"\pm", ",", ";", "and", "or",
    "cm", "m", "kg", "$", "%", "°", r"\text{", r"\boxed{", r"\begin{pmatrix}", r"\end{pmatrix}",
    r"\\", "&", "!", "…", "∞", r"\cup", "A", "(B)", ":", "12:30", "²", "½", "√", "⏎", "é", "中",
    "'", "`", "**", "~", "0.(3)", r"\overline{3}", "sin", "log", "ln_", "km/h", "per", "square",
    "five", "hundred", "third", "July", "yes", "none", r"\in", r"\{", r"\}", " ",
]  # fmt: skip
answers = st.one_of(
    st.sampled_from([row[side] for row in TABLE for side in ("gold", "prediction")]),
    st.lists(st.sampled_from(PIECES), max_size=10).map("".join),
    st.text(max_size=20),
)


@given(answers, answers)
@example("x<1, x>3", "1")
@example("x≤", "≤")
@example("\x00", "⏎")
@example("\ud800", "±")
def test_no_text_makes_it_raise_and_the_order_never_matters(a, b):
    found = FORMS.decide_here(a, b), FORMS.decide_here(b, a)
    assert found[0].same == found[1].same or "no-reference" in (d.reason for d in found)
    assert all((d.same is None) == (d.reason != "") for d in found)


@given(answers)
def test_an_answer_equals_itself_unless_it_says_nothing(answer):
    found = FORMS.decide_here(answer, answer)
    assert found.same or found.form == "empty" or found.reason or "?" in answer


@given(st.fractions(), st.fractions())
def test_fractions_are_equal_when_they_are(a, b):
    shown = rf"\frac{{{a.numerator}}}{{{a.denominator}}}"
    assert FORMS.decide_here(shown, f"{a.numerator}/{a.denominator}").same
    assert FORMS.decide_here(shown, f"{b.numerator}/{b.denominator}").same == (a == b)


@given(st.integers(-(10**9), 10**9), st.sampled_from(["{:,}", "{:_}", "{}.00", "${}$", "**{}**"]))
def test_an_integer_equals_its_other_spellings(number, spelling):
    shown = spelling.format(number).replace("_", r"\,")
    assert FORMS.decide_here(str(number), shown).same


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=4))
def test_a_polynomial_equals_itself_multiplied_out(roots):
    """Both sides are made from the roots, by factors and by coefficients."""
    factors = "".join(f"(x-({r}))" for r in roots)
    coefficients = [1]
    for r in roots:
        shifted = [*coefficients, 0]
        coefficients = [c - r * d for c, d in zip(shifted, [0, *coefficients], strict=True)]
    powers = range(len(coefficients) - 1, -1, -1)
    expanded = "+".join(f"({c})x^{{{p}}}" for c, p in zip(coefficients, powers, strict=True))
    assert FORMS.decide_here(factors, expanded).same
    assert FORMS.decide_here(factors, expanded + "+1").same is False


def test_what_needs_algebra_says_so_without_a_pool():
    assert FORMS.decide_here(r"\int_0^1 x\,dx", "1/2").reason == NEEDS_ALGEBRA

"""Claims of arithmetic in steps. Each case says what a careful reader would say of the text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmill.records import Verdict
from stepmill.verifiers.arithmetic import check_steps
from stepmill.verifiers.claims import first_incorrect


def judge(text, question=""):
    (step,) = check_steps(question, [text])
    return step.verdict, step.reason


FALSE = [
    "48/2 = 25",
    "48 - 20 = 300 left",
    "He spent 3 x $4 = $13.",
    "<<48/2=25>>25 clips",
    "20 sheep + 160 sheep = 190 sheep",
    r"$\frac{3}{4}\times 8 = 7$",
    r"\(\frac12 \cdot 1{,}000 = 600\)",
    r"\[ 8 \text{ pounds} \text{ (maths)} + 4 \text{ pounds} = 13 \text{ pounds} \]",
    r"$7\frac12 + \frac12 = 9$",
    r"\sqrt{16} + 1 = 6",
    "5! = 121",
    "2^10 = 1000",
    "2 + 3 * 4 = 20",
    "(-6 + 5 - 72) + (2 - 5) = (-67) + (-3)",
    "Total = 5 * 3 = 16",
    "20% of 50 = 12",
    "20% of 50 is 12.",
    "50 + 50 * 10% = 56",
    "15/60 = 26%",
    "2 + 3 equals 6",
    "1,000 + 2,000 = 4,000",
    "10 − 4 = 5",
    "**5 + 3 = 9**",
    "`5 + 3 = 9`",
    "5 + 3 =\n9",
    "1) 5 + 3 = 9",
    "- 5 + 3 = 9",
    "12 / 5 = 2.5",
    "3 * 12 = 35 inches",
    "She pays 3*4 = $12 and 5 + 6 = 12 later",
    "10/3 ≈ 5",
    r"\begin{aligned} 3 \cdot 4 &= 12 \\ &= 2 \cdot 5 \end{aligned}",
    "2³ = 9",
    "100 - 20% = 70",
    "27/3/4 = 10",
]


@pytest.mark.parametrize("text", FALSE)
def test_a_false_claim_makes_its_step_incorrect(text):
    assert judge(text)[0] is Verdict.INCORRECT


TRUE = [
    "48/2 = 24",
    "5 * 3 = 15 dollars",
    "<<48/2=24>>24",
    r"$\frac{3}{4}\times 8 = 6$",
    r"\frac12 + \frac1{2} = 1",
    "2+3 = 5 = 10/2",
    "10/3 ≈ 3.33",
    "10/3 = 3.33",
    "2/3 = 0.66",
    "2/3 = 0.666...",
    r"5/3 = 1.\overline{6}",
    r"90^3 = 729,\!000",
    "1/3 * 5 = 1.6666666666666665",
    "100/3 = 33.333333333333336",
    "20% of 50 is 10",
    "15/60 = 25%",
    "80 GB / 2 GB/minute = 40 minutes",
    "2 dozen + 3 = 27",
    "3 × 10^8 = 300,000,000",
    "-2^2 = -4",
    "2^3^2 = 512",
    "3(4) + 2 = 14",
    "90^\\circ + 45^\\circ = 135^\\circ",
    "7 / 2 = 3 boxes (rounded down)",
    "5 squared units: 3 + 4 = 7",
    "3 1/2 x 2 = 7",
    "4 cm^2 + 5 cm^2 = 9 cm^2",
]


@pytest.mark.parametrize("text", TRUE)
def test_a_true_claim_leaves_its_step_unknown_and_says_arithmetic_ok(text):
    assert judge(text) == (Verdict.UNKNOWN, "arithmetic-ok")


UNSURE = [
    # words beside the expression change its value
    "half of 20 + 5 = 15",
    "twice 5 + 3 = 13",
    "5 more than 3 + 2 = 10",
    "3 miles less = 20 - 3",
    "25 classmates + his 1 teacher + 1 himself = 27",
    "Day 1 * 2 = 7",
    "20 pens at $3 + $2 = $62",
    "2, 3 + 4 = 9",
    "1 hour 45 minutes - 30 minutes = 75 minutes",
    "17 / 5 = 3 remainder 2",
    "17 / 5 = 3 R2",
    "90 - 30 = 1 hour 20 minutes",
    "5 choose 2 * 3 = 30",
    # numbers that are not what they seem
    "7:50 + 30 = 8:20",
    "0900-0130 = 0730",
    "1,5 + 2 = 3,5",
    "101_2 + 11_2 = 1000_2",
    "17 % 5 = 2",
    "16+12 = 28 million",
    "1 + 2 + ... + 10 = 50",
    # names, functions, other mathematics
    "15+2a = 17",
    "4 W^2 = 16",
    "f'(-1) = 3 * 2",
    "f(2) = 3 * 2 + 1",
    r"\binom{5}{2} = 10 + 1",
    "7 + 8 = 3 (mod 12)",
    r"7 + 8 \equiv 3 \pmod{12}",
    "1Dachshund+1/4Papillon=3/4Papillon",
    "2 m + 1 = 11",
    "2abcd + 1 = 7",
    r"\(\frac{1}{2} mnp + 1 = 10\)",
    "|-3| + 2 = 5",
    "log 2 + 3 = 3.3",
    # two readings of one notation
    "6 / 1/2 = 12",
    "-2^2 = 4",
    "2^3^2 = 64",
    "2 + 3 = 5 (2 + 3)",
    "100 - 20% = 80",
    "2/5 is equal to 12.8 hectares",
    "48 = 100% + 20%",
    # units
    "60 * 2 minutes = 2 hours",
    "16 oz + 8 oz = 1.5 lb",
    "50¢ + $1 = $1.50",
    "3 boxes + 2 pens = 38 pens",
    "2 days * 5 = 240 hours",
    "4 daps = 7(5 yaps) = 7(3 baps)",
    # rounding
    "7 / 2 = 3",
    "33.33 * 3 = 100",
    "42/5 + 42/25 = 8 + 1",
    "($3,200 - $4,800) / $4,800 * 100 = -33%",
    "√2 + 1 = 2.41",
    # not stated as true
    "If 2 + 3 = 6, we fail",
    "Check: 2 + 3 = 6",
    "2 + 3 = 6, which is wrong",
    "2 + 3 = 6. Wait, that is not right.",
    "Is 2 + 3 = 6?",
    "Substituting x = 1 into the equation: 2 + 3 = 6",
    "7! = 7 * 6 * 5 * 4!",
    "5!! = 10 + 5",
    # a running total written as a chain
    "3*4 = 12 + 5 = 17",
    "2*3 = 6 + 4*2 = 8",
    "- 5 + 3 = -2",
    "x = x + 1",
    "n == 2 + 3",
]


@pytest.mark.parametrize("text", UNSURE)
def test_what_may_be_meant_otherwise_is_not_called_incorrect(text):
    assert judge(text)[0] is Verdict.UNKNOWN


@pytest.mark.parametrize("text", ["", "Let us think.", "so x = 12", "He has 12 apples.", "= 5"])
def test_a_step_without_a_claim_is_unknown_and_says_so(text):
    assert judge(text) == (Verdict.UNKNOWN, "no-claim")


def test_a_finding_shows_the_claim_its_place_and_both_exact_sides():
    text = "Then 10/4 + 1 = 5 apples."
    (step,) = check_steps("", [text])
    (finding,) = step.findings
    assert (finding.verdict, finding.reason) == (Verdict.INCORRECT, "mismatch")
    assert (finding.lhs, finding.rhs) == ("7/2", "5")
    assert finding.claim == text[finding.start : finding.end] == "10/4 + 1 = 5 apples"


def test_each_equality_of_a_chain_is_a_claim_of_its_own():
    (step,) = check_steps("", ["(7 - -8) * 2 = 15 * 2 = 31 = 62/2"])
    assert [f.verdict for f in step.findings] == [
        Verdict.CORRECT,
        Verdict.INCORRECT,
        Verdict.CORRECT,
    ]


def test_the_first_incorrect_step_is_found():
    steps = check_steps("", ["1 + 1 = 2", "Hence we go on.", "2 + 2 = 5", "3 + 3 = 7"])
    assert first_incorrect(steps) == 2
    assert first_incorrect(steps[:2]) is None


def test_a_question_that_redefines_signs_makes_nothing_false():
    question = "Define the operation a * b = a^2 - b. What is 3 * 4?"
    assert judge("3 * 4 = 5", question) == (Verdict.UNKNOWN, "redefined-signs")
    assert judge("3 * 4 = 5", "Follow the order of operations.")[0] is Verdict.INCORRECT


@pytest.mark.parametrize(
    ("steps", "verdicts"),
    [
        (["x = 12", "Then 2x = 25"], ["unknown", "incorrect"]),
        (["Let x = 12.", "2x = 24"], ["unknown", "unknown"]),
        (["A = 3 - 8 = -5, B = 2 * 4 = 8", "A - B = -5 + 8 = 3"], ["unknown", "incorrect"]),
        (["A = 3 - 8 = -5 and B = 2 * 4 = 8", "A - B = -5 - 8 = -13"], ["unknown", "unknown"]),
        (["x_1 = 3", "x_1 + 4 = 8"], ["unknown", "incorrect"]),
    ],
)
def test_named_values_are_carried_to_later_steps(steps, verdicts):
    assert [step.verdict for step in check_steps("", steps)] == verdicts


@pytest.mark.parametrize(
    "steps",
    [
        ["x = 3 or x = 5", "2x = 10"],
        ["x = 3, 5", "2x = 10"],
        ["If x = 3, the sum is small.", "2x = 10"],
        ["x = 3", "x = 5", "2x = 10"],
        ["The line y = 3 is flat.", "y + 1 = 6"],
        ["5 - a = 3, so a = 2", "Next, 5 - a = -3"],
        ["Case 1: a = 2", "In the second case a + 3 = 8"],
        ["x = 3", "Solve the equation x + 1 = 6"],
        ["x ≈ 3", "2x = 7"],
        ["x = 3.33", "3x = 10"],
    ],
)
def test_a_name_in_doubt_makes_nothing_false(steps):
    assert first_incorrect(check_steps("", steps)) is None


def test_an_equation_that_the_next_step_denies_is_not_false():
    steps = ["Put in -4: 3(-4) + 2 = 5", "This does not hold, so -4 is no solution."]
    assert first_incorrect(check_steps("", steps)) is None
    assert first_incorrect(check_steps("", [steps[0], "Hence -4 is a solution."])) == 0


def test_a_supposed_equation_may_be_restated_in_the_next_step():
    steps = ["Suppose 3(-4) + 2 = 5.", "Simplified, -12 + 2 = 5", "And 3(-4) + 3 = 5"]
    assert first_incorrect(check_steps("", steps)) == 2


def test_values_given_by_the_question_are_compared_with_those_put_in():
    question = "If a = 3 and b = 4, what is 2a + b?"
    wrong, right = check_steps(question, ["2a + b = 2(3) + 5 = 11", "2a + b = 2(3) + 4 = 10"])
    assert (wrong.verdict, wrong.reason) == (Verdict.INCORRECT, "named-values")
    assert wrong.findings[0].detail == {"names": {"a": "3", "b": "4"}}
    assert right.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        ("B = (2 + 7 + 1) = 10", "incorrect"),
        ("B = (2 + 7 - 1) = 8", "unknown"),
        ("B = [2 + 7 - 1] = 8", "unknown"),
        ("B = (2 + 9 - 3) = 8", "unknown"),
    ],
)
def test_an_expression_copied_wrongly_from_the_question_is_found(step, verdict):
    question = "Compute ((3 - 5 + 2) * (2 + 7 - 1)) ="
    (result,) = check_steps(question, [step])
    assert result.verdict == verdict


def test_a_copy_is_not_judged_when_the_question_has_words():
    question = "Tom had 2 + 7 - 1 apples and gave some away."
    assert judge("B = (2 + 7 + 1) = 10", question)[0] is Verdict.UNKNOWN


HOSTILE = {
    "digits": "9" * 19_000 + " + 1 = 5",
    "longer": "9" * 100_000 + " + 1 = 5",
    "sum": "1 + " * 4_000 + "1 = 3",
    "nested": "(" * 9_000 + "1" + ")" * 9_000 + " = 2 + 2",
    "fractions": r"\frac{1}{" * 1_900 + "2" + "}" * 1_900 + " = 1",
    "tower": "2^2^2^2^2^2^2 = 3",
    "bracketed tower": "9^(9^(9^9)) = 1 + 1",
    "factorials": "((((9!)!)!)!) = 1",
    "exclamation": "3" + "!" * 15_000 + " = 6",
    "signs": "-" * 15_000 + "1 = 1 + 1",
    "division": "1/" * 9_000 + "1 = 5",
    "words": "5 " + "apples " * 2_500 + "+ 3 = 8",
    "annotation": "<<" * 9_000 + "1+1=3>>",
    "spaces": "1" + " " * 19_000 + "x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_never_called_incorrect_for_its_size(name):
    (step,) = check_steps("", [HOSTILE[name]])
    assert step.verdict is Verdict.UNKNOWN or name == "annotation"


_PIECES = st.sampled_from(
    [
        *"0123456789+-*/^=()[]{}$%!?.,:;<>|&~_ \n\\xXaAB'\"≈×÷·√²°",
        *("**", "<<", ">>", "\\frac", "\\text{", "\\(", "\\)", "\\sqrt", "1,000", "0.5", " of "),
        *(" is ", " equals ", " dozen ", " and ", "so x = ", " hours ", "\\\\", "...", "x_1"),
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join), st.lists(_PIECES, max_size=15).map("".join))
@settings(max_examples=400, deadline=None)
def test_no_text_makes_the_checker_fail(text, question):
    for step in check_steps(question, [text, text]):
        assert step.verdict is not Verdict.CORRECT
        for finding in step.findings:
            assert text[finding.start : finding.end] == finding.claim


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_no_unicode_makes_the_checker_fail(text):
    check_steps(text, [text + " = " + text, "1 + " + text + " = 2"])


_SMALL = st.integers(-99, 99)


@given(_SMALL, _SMALL, _SMALL, st.integers(1, 999))
def test_sums_and_products_are_judged_as_python_reckons_them(a, b, c, off):
    value = a + b * c
    assert judge(f"{a} + {b} * {c} = {value}")[1] == "arithmetic-ok"
    assert judge(f"{a} + {b} * {c} = {value + off}")[0] is Verdict.INCORRECT


# Two solutions of BIG-Bench-Mistake, multistep_arithmetic (Apache-2.0, WHGTyen/BIG-Bench-Mistake),
# with the 0-based first error that people marked.
EXCERPTS = [
    (
        "(((-5 * -3 - -8 * 7) - (5 * -1 - 8 - 4)) - ((4 + -6 * 5 - 4) - (-9 - 0 - -8 + -2))) =",
        [
            'This equation can be written as "A - B - C - D", where A = (-5 * -3 - -8 * 7),'
            " B = (5 * -1 - 8 - 4), C = (4 + -6 * 5 - 4), and D = (-9 - 0 - -8 + -2).",
            "Let's calculate A = (-5 * -3 - -8 * 7) = (15 + 56) = 71.",
            "Let's calculate B = (5 * -1 - 8 - 4) = (-5 - 8 - 4) = -17.",
            "Let's calculate C = (4 + -6 * 5 - 4) = (4 - 30 - 4) = -30.",
            "Let's calculate D = (-9 - 0 - -8 + -2) = (-9 + 8 + -2) = -3.",
            "Then, the final equation is A - B - C - D = 71 - 17 - 30 - (-3) = 27."
            " So the answer is 27",
        ],
        5,
    ),
    (
        "((-9 * 6 * 7 - 2) * (0 * 5 - -1 - -5)) =",
        [
            'This equation can be written as "(A * B)", where A = (-9 * 6 * 7 - 2) and'
            " B = (0 * 5 - -1 - -5).",
            "Let's calculate A = (-9 * 6 * 7 - 2) = ((-9 * 6) * 7 - 2) = ((-54) * 7 - 2) ="
            " (-378 - 2) = -380.",
            "Let's calculate B = (0 * 5 - -1 - -5) = (0 * 5 - -6) = (0 - -6) = 6.",
            "Then, the final equation is (A * B) = (-380 * 6) = -2280. So the answer is -2280",
        ],
        None,  # people marked step 2, which is right: 0 + 1 + 5 = 6
    ),
]


@pytest.mark.parametrize(("question", "steps", "first"), EXCERPTS)
def test_solutions_of_big_bench_mistake_are_judged_as_exact_arithmetic_says(question, steps, first):
    assert first_incorrect(check_steps(question, steps)) == first


def test_the_false_gold_step_of_gsm8k_is_flagged_and_its_neighbours_are_not():
    steps = [  # GSM8K test set (MIT, openai/grade-school-math): "$32 - $20 = $300" is in the text
        "The discount is $80 x 40/100 = $<<80*40/100=32>>32.",
        "So, Suzzane has $32 - $20 = $300 left.",
        "Janet sells 16 - 3 - 4 = <<16-3-4=9>>9 duck eggs a day.",
    ]
    assert [s.verdict.value for s in check_steps("", steps)] == ["unknown", "incorrect", "unknown"]

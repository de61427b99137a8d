import pytest

from stepmill.verifiers.arithmetic_clauses import BULLET, clauses, resolve
from stepmill.verifiers.arithmetic_tokens import tokenize


def texts(text):
    return [token.text for token in resolve(tokenize(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 x $4", ["3", "*", "$", "4"]),
        ("3x4", ["3", "*", "4"]),
        ("3x + 4", ["3", "x", "+", "4"]),
        ("2 boxes x 5", ["2", "boxes", "*", "5"]),
        ("5 = **8**", ["5", "=", "8"]),
        ("2**3", ["2", "^", "3"]),
        ("$8$ apples", ["$", "8", "apples"]),
        ("1{,}000 + 2\\,000", ["1000", "+", "2000"]),
        ("8 pounds (maths and science) + 4", ["8", "pounds", "+", "4"]),
        ("3 (dozen)", ["3", "(", "dozen", ")"]),
        ("20% of 50", ["20", "*", "50"]),
        ("half of 50", ["half", "of", "50"]),
        ("3 times 4", ["3", "*", "4"]),
        ("12 divided by 4", ["12", "/", "4"]),
        ("48/2 = <<48/2=24>>24", ["48", "/", "2", "=", "24"]),
        ("- 5 + 3", [BULLET, "5", "+", "3"]),
        ("-5 + 3", ["-", "5", "+", "3"]),
        ("7:50", ["7", ":", "50"]),
        ("3! + 1", ["3", "!", "+", "1"]),
        (r"\text{5 cm}", ["5", "cm"]),
    ],
)
def test_tokens_are_read_by_what_stands_beside_them(text, expected):
    assert texts(text) == expected


@pytest.mark.parametrize("text", [r"a \frac{1}{2} = 0.5 kg, b² = 4", "x_1 ≈ 3%…"])
def test_spans_point_into_the_text_as_given(text):
    for token in tokenize(text):
        assert 0 <= token.start <= token.end <= len(text)
    numbers = [token for token in tokenize(text) if token.text in ("0.5", "x_1")]
    assert [text[token.start : token.end] for token in numbers] == [t.text for t in numbers]


def test_a_chain_runs_on_over_line_ends_only_where_the_next_line_starts_with_its_relation():
    joined = list(clauses(resolve(tokenize("3 * 4\n= 12\n5 = 5"))))
    assert [[token.text for token in clause.tokens] for clause in joined] == [
        ["3", "*", "4", "=", "12"],
        ["5", "=", "5"],
    ]

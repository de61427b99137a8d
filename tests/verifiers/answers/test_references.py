"""Reference answers that nothing can be checked against."""

import pytest

from stepmill.verifiers.answers.references import lint_reference


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "empty"),
        ("  ", "empty"),
        (r"\boxed{}", "empty"),
        ("notfound", "sentinel"),
        ("Proof", "sentinel"),
        ("N/A", "sentinel"),
        ("I don't know", "sentinel"),
        ("We show that the sequence converges by induction on its terms", "prose"),
        (r"\frac{1}{", "unparsed"),
        ("x + ) 3", "unparsed"),
        ("1" * 3000, "too-large"),
        ("(" * 100 + "1" + ")" * 100, "too-large"),
    ],
)
def test_a_reference_that_cannot_be_checked_has_a_reason(answer, reason):
    assert lint_reference(answer) == reason


@pytest.mark.parametrize(
    "answer",
    [
        "42", r"\frac{1}{2}", "5 + 5 = 10\n#### 10", r"\text{Evelyn}", "no solution", "(B)", "x=5",
        r"(-\infty, 2) \cup (3, \infty)", r"\int_0^1 x\,dx", "3:30 PM", "52_8",
    ],
)  # fmt: skip
def test_a_reference_that_can_be_checked_has_none(answer):
    assert lint_reference(answer) is None

"""Numbers within a tolerance."""

import pytest

from stepmill.verifiers.answers.numeric import close_numbers


@pytest.mark.parametrize(
    ("reference", "answer", "relative", "absolute", "same"),
    [
        ("100", "100.00001", 1e-6, 0, True),
        ("100", "100.001", 1e-6, 0, False),
        ("100", "101", 0, 1, True),
        ("100", "102", 0, 1, False),
        ("5 cm", "0.05 m", 0, 0, True),
        ("5 cm", "5", 0, 0, True),
        ("5 cm", "5 kg", 0, 0, False),
        ("1 m", "101 cm", 0, 0.01, True),
        (r"\sqrt{2}", "1.414", 0.001, 0, True),
        ("1/3", "0.333", 0.01, 0, True),
        ("x = 5", "5.0", 0, 0, True),
        ("50%", "0.5", 0, 0, True),
        ("1,000", "1000", 0, 0, True),
    ],
)
def test_numbers_are_compared_within_their_tolerance(reference, answer, relative, absolute, same):
    assert close_numbers(reference, answer, relative, absolute).same is same


@pytest.mark.parametrize(
    ("reference", "answer", "reason"),
    [
        ("5", "blue", "not-a-number"),
        ("5", "", "not-a-number"),
        ("x", "5", "not-a-number"),
        ("5", "1/0", "not-a-number"),
        ("5", "2i", "not-a-number"),
        ("5 apples", "5 oranges", "units"),
        ("5", "9^{9^9}", "too-large"),
        ("5", "5" * 3000, "too-large"),
    ],
)
def test_what_is_no_number_is_unknown(reference, answer, reason):
    found = close_numbers(reference, answer, 1e-6, 0)
    assert (found.same, found.reason) == (None, reason)

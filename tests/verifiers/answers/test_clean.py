"""Canonical text: many spellings, one form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.verifiers.answers.clean import clean, to_latex


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" 42. ", "42"),
        ("$42$", "42"),
        ("$$42$$", "42"),
        (r"\[ 7 \]", "7"),
        (r"\(7\)", "7"),
        ("**7**", "7"),
        ("`7`", "7"),
        ("“7”", "7"),
        (r"$\boxed{\text{42}}$", "42"),
        (r"\boxed{\boxed{42}}", "42"),
        (r"\left(\dfrac12\right)", r"(\frac12)"),
        (r"\frac{1}{3}.", r"\frac{1}{3}"),
        ("0.333...", "0.333…"),
        ("−3", "-3"),
        ("–7", "-7"),
        ("５", "5"),
        ("x²", "x^{2}"),
        ("7½", "7 1/2"),
        ("½", "1/2"),
        ("√3", r"\sqrt{3}"),
        ("∛8", r"\sqrt[3]{8}"),
        ("𝑥", "x"),
        (r"x \leq 3", "x ≤3"),
        ("x<=3", "x≤3"),
        ("2**3", "2^3"),
        ("3 x 10^5", "3×10^5"),
        ("10{,}000", "10,000"),
        (r"11,\! 111,\! 100", "11,111,100"),
        (r"10\,000", "10 000"),
        (r"90^\circ", "90°"),
        (r"90^{\circ}", "90°"),
        (r"\$18.90", "$18.90"),
        ("$18", "$18"),
        ("$5$ cm", "5 cm"),
        ("$5 and $10", "$5 and $10"),
        (r"50\%", "50%"),
        (r"\{1,2\}", "⦃1,2⦄"),
        (r"5\,\text{km/h}", "5 km/h"),
        (r"\textbf{(B)}\ 12", "(B) 12"),
        (r"3\mathbf{i}+4\hat{\jmath}", "3 i⃗ +4 j⃗"),
        (r"3\vec i", "3 i⃗"),
        (r"\mathbf{42}", "42"),
        (r"\\frac{1}{2}", r"\frac{1}{2}"),
        (r"\mathbb{R}", "ℝ"),
        ("", ""),
        ("$$", ""),
    ],
)
def test_spellings_become_canonical(text, canonical):
    assert clean(text).strip() == canonical


def test_rows_of_a_matrix_stay_apart():
    text = clean(r"\begin{pmatrix} 1 \\ -18/5 \end{pmatrix}")
    assert text == r"\begin{pmatrix} 1 ⏎ -18/5 \end{pmatrix}"


@given(st.text())
def test_any_text_can_be_cleaned(text):
    assert isinstance(clean(text), str)


def test_the_parsers_latex_uses_the_common_names():
    assert to_latex("x≥4 ∪ π") == r"x\ge 4 \cup  \pi "
    assert to_latex("⦃1⦄") == r"\{1\}"

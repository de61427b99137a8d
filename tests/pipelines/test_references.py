import pytest

from stepmill.pipelines.references import find_reference, last_boxed


@pytest.mark.parametrize(
    ("text", "reads", "reference"),
    [
        (" 3/4 ", "text", "3/4"),
        ("1,000", "text", "1,000"),
        ("2 + 3 = 5\n#### 5", "hashes", "5"),
        ("#### 1\n#### 1,234,567.50 ", "hashes", "1234567.50"),
        ("#### 1,2", "hashes", "1,2"),
        ("no sign: 5", "hashes", None),
        ("#### ", "hashes", None),
        (r"so \boxed{\frac{1}{2}}. Or $\boxed{3}$", "boxed", "3"),
        (r"\fbox { x^{2} }", "boxed", "x^{2}"),
        ("no box: 5", "boxed", None),
        ("", "text", None),
        ("notfound", "text", None),
        ("Proof.", "text", None),
        ("N/A", "text", None),
        ("#### null", "hashes", None),
        (r"\boxed{}", "boxed", None),
        ("proof by induction", "text", "proof by induction"),
        ("0", "text", "0"),
        ("no", "text", "no"),
    ],
)
def test_reference_is_found_where_the_mapping_says(text, reads, reference):
    assert find_reference(text, reads) == reference


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{1} and \boxed{2 never closed", "1"),
        (r"\boxed{a \boxed{b} c}", "b"),
        (r"} \boxed{\text{} x} }", r"\text{} x"),
        (r"\boxed{never {closed}", None),
    ],
)
def test_last_box_is_read_to_its_own_brace(text, content):
    assert last_boxed(text) == content


def test_many_open_boxes_are_no_trouble():
    assert last_boxed(r"\boxed{" * 200_000) is None

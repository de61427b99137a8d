"""The final answer in a solution's text: which marker counts, and where the answer ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.verifiers.extract import extract_answer, unwrap_answer

ANSWERS = [
    # boxes
    (r"so it is \boxed{42}.", "42", "boxed"),
    (r"\boxed{41}, no: \boxed{42} is right", "42", "boxed"),
    (r"$\boxed{\frac{1}{2}}$", r"\frac{1}{2}", "boxed"),
    (r"\boxed{\{1, 2\}}", r"\{1, 2\}", "boxed"),
    (r"\fbox{7}", "7", "boxed"),
    (r"\boxed 5$", "5", "boxed"),
    (r"The roots are \boxed{2} and \boxed{3}.", "2, 3", "boxed"),
    (r"\boxed{1}\boxed{2}", "1, 2", "boxed"),
    (r"\boxed{8}" + "\n\nCheck again.\n\n" + r"\boxed{9}", "9", "boxed"),
    (
        r"$17^{-1} = \boxed{44}$." + "\nWe may check our answer: $17 \\cdot 44 = 748$.",
        "44",
        "boxed",
    ),
    (r"The answer is \boxed{42}. I hope this answer is helpful.", "42", "boxed"),
    # lines of GSM8K, tags
    ("5 + 5 = 10\n#### 10", "10", "hash"),
    ("#### Step 2: add 3\nso 5\n#### 1,234\n", "1,234", "hash"),
    ("<answer> 7 </answer> and <ANSWER>8</ANSWER>", "8", "tag"),
    # phrases
    ("The answer is 7. I hope this helps!", "7", "phrase"),
    ("The answer is 7\n\nQuestion: what is 5 + 5?", "7", "phrase"),
    ("Final Answer: **73**", "73", "phrase"),
    ("**Final Answer:** 73", "73", "phrase"),
    ("## Final Answer\n\nThe final answer is $5$. I hope it is correct.", "$5$", "phrase"),
    ("234 apples.\n" * 50 + "Final Answer: **73**\n", "73", "phrase"),
    ("Final Answer: The largest $n$ is 34.", "34", "phrase"),
    ("The answer is:\n$$\nx = 5\n$$\nDone.", "$$\nx = 5\n$$", "phrase"),
    ("**Answer:**\n\n42\n", "42", "phrase"),
    ("The correct option is (C).", "(C)", "phrase"),
    ("The answer is B. Because A is too small.", "B", "phrase"),
    ("The answer is 3:30 p.m.", "3:30 p.m", "phrase"),
    ("So the answer, in dollars, is $18.50.", "$18.50", "phrase"),
    ("The answer is 1.5 since it doubles.", "1.5", "phrase"),
    ("She pays 5 * 2 = 10\nA: 10", "10", "phrase"),
    ("The answer is 4.\nWait, no.\nThe answer is 5.", "5", "phrase"),
    ("The answer is 4. This answer is correct.", "4", "phrase"),
    ("The final answer is yes, it is possible.", "yes, it is possible", "phrase"),
    ("Answer $9$", "$9$", "phrase"),
]


@pytest.mark.parametrize(("text", "answer", "marker"), ANSWERS)
def test_the_last_marker_gives_the_answer(text, answer, marker):
    found = extract_answer(text)
    assert found is not None
    assert (found.text, found.marker) == (answer, marker)
    assert text[found.start :].startswith(answer[:1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 7.\n\nThis is correct.",
        "First 234, then 73.",
        "The answer is clear.",
        "The answer is in the last line",
        r"so \boxed{41} and then \boxed{4",  # begun and not finished
        "The answer is 4. No. The final answer is",
        "A: apple\nB: pear\nC: plum",
        "#### Step 1: think about it",
    ],
)
def test_no_finished_marker_is_no_answer(text):
    assert extract_answer(text) is None


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (r"\boxed{42}", True),
        (r"\boxed{42} and more", True),
        ("<answer>42</answer>", True),
        ("The answer is 42", False),
        ("The answer is 42.", False),  # 42.5 may follow
        ("The answer is 42. So", True),
        ("The answer is 42\n", True),
        ("#### 42", False),
        ("#### 42\n", True),
        ("The answer is:\n$$42$$", True),
    ],
)
def test_an_answer_is_complete_when_the_text_shows_its_end(text, complete):
    found = extract_answer(text)
    assert found is not None
    assert found.complete is complete


@pytest.mark.parametrize(
    ("text", "fallback", "answer"),
    [
        ("So the total is **42**.", "last-line", "42"),
        (r"So the total is \textbf{42}.", "last-line", "42"),
        ("Add them:\n$x = 5$\n", "last-line", "$x = 5$"),
        ("2 + 3 = 5", "last-line", "2 + 3 = 5"),
        ("(C)", "last-line", "(C)"),
        ("She has 5 apples left.", "last-line", None),
        ("She has 3 and 5 apples.", "last-number", "5"),
        ("**Step 3**", "last-line", None),
        ("So the total is **42**.", "none", None),
    ],
)
def test_without_a_marker_the_fallback_decides(text, fallback, answer):
    found = extract_answer(text, fallback)
    assert (found and found.text) == answer
    assert found is None or not found.complete


def test_a_marker_is_taken_off_a_short_answer():
    assert unwrap_answer("A: 7") == "7"
    assert unwrap_answer(r"The answer is \boxed{42}.") == "42"
    assert unwrap_answer("42") == "42"


@given(st.text(alphabet="\\boxed{}fanswer:#<>/ \n$*1A."))
def test_no_text_makes_it_raise_and_the_answer_stands_in_the_text(text):
    found = extract_answer(text, "last-number")
    assert found is None or found.text[:1] in text[found.start : found.start + 1]


@pytest.mark.parametrize(
    "piece",
    [
        r"\boxed{",
        r"\boxed",
        "{",
        "$",
        r"\(",
        "<answer>",
        "answer is ",
        "answer: $$",
        "#### a\n",
        "**",
    ],
)
def test_hostile_repetition_takes_time_in_proportion(piece):
    extract_answer(piece * (200_000 // len(piece)), "last-number")

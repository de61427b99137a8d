"""The word problems: generation, reading back, and the truth about every line."""

import json
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.wordproblems import (
    MAX_VALUE,
    Mistake,
    WordProblem,
    compute,
    diagnose,
    first_error,
    generate,
    main,
    parse,
    read_step,
    stream,
)

QUESTION = (
    "Mia has 12 apples. She buys 5 more. She buys 3 boxes of 4. She gives away 9. "
    "She loses half of them. How many apples does Mia have now?"
)
RIGHT = [
    "Step 1: 12 + 5 = 17.",
    "Step 2: 3 * 4 = 12.",
    "Step 3: 17 + 12 = 29.",
    "Step 4: 29 - 9 = 20.",
    "Step 5: 20 / 2 = 10.",
    "The answer is 10.",
]


def problems(min_steps: int = 3, max_steps: int = 12) -> st.SearchStrategy[WordProblem]:
    def draw(seed: int) -> WordProblem:
        return next(stream(random.Random(seed), min_steps, max_steps))

    return st.integers(min_value=0, max_value=2**32).map(draw)


def with_line(index: int, line: str) -> str:
    return "\n".join([*RIGHT[:index], line, *RIGHT[index + 1 :]])


@given(problems())
def test_a_question_is_read_back_into_its_operations(problem):
    assert parse(problem.question) == problem


@given(problems())
def test_every_operation_is_true_and_starts_where_the_one_before_ended(problem):
    value = problem.value_before(0)
    for at, step in enumerate(problem.steps):
        assert compute(step.left, step.symbol, step.right) == step.result
        assert problem.value_before(at) == value
        assert min(step.left, step.right, step.result) >= 1
        assert max(step.left, step.right, step.result) <= MAX_VALUE
        if not step.aside:
            assert step.left == value
            value = step.result
    assert problem.answer == value


@given(problems())
def test_the_right_solution_has_no_mistake_and_neither_has_any_beginning(problem):
    assert first_error(problem.question, problem.solution) == -1
    for n in range(len(problem.lines)):
        beginning = "\n".join(problem.lines[:n])
        assert first_error(problem.question, beginning, complete=False) == -1
        assert diagnose(problem.question, beginning) == Mistake(n, "unfinished")


@given(problems(), st.data())
def test_a_false_result_is_found_at_its_line_whatever_comes_after(problem, data):
    at = data.draw(st.integers(0, len(problem.steps) - 1))
    by = data.draw(st.integers(-9, 9).filter(bool))
    lines = list(problem.lines)
    truth = problem.steps[at]
    lines[at] = lines[at].replace(f"= {truth.result}.", f"= {abs(truth.result + by) or 500}.")
    if read_step(lines[at]) != (at + 1, truth):
        rest = data.draw(st.lists(st.sampled_from([*lines, "?", "The answer is 3."])))
        assert first_error(problem.question, "\n".join(lines[: at + 1] + rest)) == at


def test_lengths_are_uniform_in_the_range():
    lengths = Counter(len(problem.steps) for problem in generate(0, 5000, 3, 12))
    assert set(lengths) == set(range(3, 13))
    assert all(abs(count - 500) < 100 for count in lengths.values())  # 4.7 standard deviations


def test_questions_are_distinct_even_when_few_exist():
    drawn = generate(5, 3000, 1, 1)
    assert len({problem.question for problem in drawn}) == 3000


def test_the_same_seed_gives_the_same_problems_and_more_of_them_begin_alike():
    assert generate(7, 20) == generate(7, 50)[:20]
    assert generate(7, 20) != generate(8, 20)


@pytest.mark.parametrize(("low", "high"), [(0, 3), (5, 4)])
def test_an_impossible_range_is_refused(low, high):
    with pytest.raises(ValueError, match=f"{low} to {high} steps"):
        generate(0, 1, low, high)


@pytest.mark.parametrize(
    ("at", "line", "kind"),
    [
        (0, "Step 1: 12 + 5 = 18.", "arithmetic"),
        (0, "Step 1: 12 + 6 = 18.", "operand"),
        (3, "Step 4: 28 - 9 = 19.", "operand"),
        (3, "Step 4: 29 + 9 = 38.", "operation"),
        (0, "Step 1: 3 * 4 = 12.", "skipped"),
        (1, "Step 2: 17 + 12 = 29.", "skipped"),
        (1, "Step 2: 17 - 9 = 8.", "skipped"),
        (1, "Step 2: 3 + 4 = 7.", "operation"),
        (3, "Step 4: 29 / 2 = 14.", "skipped"),
        (4, "The answer is 20.", "skipped"),
        (4, "The answer is 10.", "skipped"),
        (5, "The answer is 11.", "answer"),
        (5, "Step 6: 10 + 1 = 11.", "extra"),
        (0, "Step 2: 12 + 5 = 17.", "form"),
        (0, "12 + 5 = 17", "form"),
        (2, "So she has 29.", "form"),
        (5, "The answer is 10", "form"),
    ],
)
def test_a_wrong_line_is_found_and_named(at, line, kind):
    assert diagnose(QUESTION, with_line(at, line)) == Mistake(at, kind)


def test_lines_after_the_answer_are_a_mistake():
    assert diagnose(QUESTION, "\n".join([*RIGHT, "The answer is 10."])) == Mistake(6, "extra")


def test_sums_and_products_may_swap_their_operands():
    swapped = with_line(0, "Step 1: 5 + 12 = 17.").replace("3 * 4", "4 * 3")
    assert first_error(QUESTION, swapped) == -1
    assert first_error(QUESTION, with_line(3, "Step 4: 9 - 29 = 20.")) == 3


def test_blank_lines_and_spaces_at_the_ends_of_lines_count_for_nothing():
    assert first_error(QUESTION, "\n\n ".join(RIGHT) + "\n") == -1


@pytest.mark.parametrize(
    "question",
    [
        "What is 2 + 2?",
        "Mia has 12 apples. How many apples does Mia have now?",
        QUESTION.replace("buys 5 more", "eats 5"),
        QUESTION.replace("12", "13"),  # 20 becomes 21, which has no half
        QUESTION + " ",
        "",
    ],
)
def test_a_question_of_another_world_has_no_truth(question):
    assert parse(question) is None
    assert first_error(question, "\n".join(RIGHT)) is None
    with pytest.raises(ValueError, match="not a question of this world"):
        diagnose(question, "")


@given(problems(), st.text())
def test_any_text_gets_a_verdict(problem, text):
    mistake = diagnose(problem.question, text)
    assert mistake is not None
    assert 0 <= mistake.line <= len(problem.steps)


def test_the_command_writes_question_and_answer_as_json_lines(capsys):
    main(["--n", "5", "--seed", "3", "--min-steps", "4", "--max-steps", "4"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = generate(3, 5, 4, 4)
    assert rows == [{"question": p.question, "answer": str(p.answer)} for p in expected]

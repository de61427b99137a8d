import pytest

from stepmill.errors import UserError
from stepmill.pipelines.mappings import FieldMapping, ReadyMapping, check_mapping, find_mapping
from stepmill.pipelines.readers import Row


def find(values, ready: ReadyMapping = "auto", unanswered=False):
    rows = [Row("q:1", values)]
    return find_mapping(ready, rows, list(values), "q.jsonl", unanswered)


def test_gsm8k_math_and_our_own_tables_are_ready():
    assert find({"question": "q", "answer": "#### 1"}, "gsm8k") == FieldMapping(
        question="question", answer="answer", reads="hashes"
    )
    assert find(
        {"problem": "q", "solution": "s", "answer": "1", "subject": "algebra"}, "math"
    ) == FieldMapping(question="problem", answer="answer", domain="subject")
    assert find({"problem": "q", "solution": "s"}, "math") == FieldMapping(
        question="problem", answer="solution", reads="boxed"
    )
    assert find(
        {"prompt": "q", "reference_answer": "1", "license": "MIT"}, "stepmill"
    ) == FieldMapping(question="prompt", answer="reference_answer", license="license")


def test_a_ready_mapping_that_does_not_fit_says_what_it_needs():
    with pytest.raises(UserError, match="needs the columns problem and answer or problem and sol"):
        find({"question": "q", "answer": "1"}, "math")


@pytest.mark.parametrize(
    ("values", "mapping"),
    [
        ({"Question": "q", "Ground_Truth": "1"}, ("Question", "Ground_Truth", "text")),
        ({"problem": "q", "solution": "s", "answer": "1"}, ("problem", "answer", "text")),
        ({"problem": "q", "solution": r"\boxed{1}"}, ("problem", "solution", "boxed")),
        ({"question": "q", "answer": "so #### 1"}, ("question", "answer", "hashes")),
        ({"prompt": "p", "question": "q", "target": "1"}, ("question", "target", "text")),
    ],
)
def test_columns_are_found_by_their_names_and_values(values, mapping):
    found = find(values)
    assert (found.question, found.answer, found.reads) == mapping


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"text": "q", "answer": "1"},
            "no column looks like a question; its columns: text, answer",
        ),
        ({"question": "q", "score": "1"}, "no column looks like a reference"),
        ({"input": "q", "answer": "1", "target": "2"}, "may be in answer or target"),
        (
            {"question": "q", "options": "A", "answer": "A", "context": "c"},
            r"context and options may belong to it.*question: \[context, options, question\]",
        ),
    ],
)
def test_a_doubt_about_the_columns_is_for_the_user(values, message):
    with pytest.raises(UserError, match=message):
        find(values)


def test_a_source_without_references_will_do_when_they_are_not_wanted():
    assert find({"question": "q", "score": "1"}, unanswered=True) == FieldMapping(
        question="question"
    )


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    mapping = FieldMapping(question=("context", "question"), answer="answr", meta=("level",))
    with pytest.raises(
        UserError,
        match=r"q.csv has no column 'answr'; its columns: context, question, answer."
        r" Did you mean 'answer'\?",
    ):
        check_mapping(mapping, ["context", "question", "answer"], "q.csv")
    with pytest.raises(UserError, match="no column 'level'"):
        check_mapping(mapping, ["context", "question", "answr"], "q.csv")

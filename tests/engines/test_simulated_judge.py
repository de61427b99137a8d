"""The simulated judge: right about word problems but for the errors it is told to make."""

import asyncio
from collections import Counter

import pytest

from stepmill.engines.base import ENGINES, Prefix
from stepmill.engines.kinds import load_engine_kinds
from stepmill.engines.simulated_judge import SimulatedJudgeEngine, SimulatedJudgeSettings
from stepmill.errors import EngineError
from stepmill.records import SamplingParams
from stepmill.wordproblems import generate

PROBLEM = generate(3, 1)[0]
LINES = list(PROBLEM.lines)


def question(paragraphs, problem=PROBLEM.question):
    """A judge's question in the form of templates/first-error-1.jinja."""
    shown = "".join(f"<paragraph_{i}>\n{p}\n</paragraph_{i}>\n" for i, p in enumerate(paragraphs))
    return f"<problem>\n{problem}\n</problem>\n<solution>\n{shown}</solution>"


def wrong_at(index):
    """The right solution with a line of no sense at `index`."""
    return [*LINES[:index], "Step 0: 1 + 1 = 3.", *LINES[index + 1 :]]


def replies(text, n, params=None, seed=0, **settings):
    engine = SimulatedJudgeEngine(SimulatedJudgeSettings(**settings))
    draws = engine.complete(Prefix(text), range(n), params or SamplingParams(), seed)
    return asyncio.run(draws)


def named(completion):
    """What the box says."""
    return int(completion.text.rpartition("\\boxed{")[2].rstrip("}"))


@pytest.mark.parametrize("index", range(len(LINES)))
def test_without_errors_it_names_the_first_wrong_paragraph(index):
    (reply,) = replies(question(wrong_at(index)), 1, error=0)
    assert reply.text.splitlines()[:-1] == [
        *(f"Paragraph {i}: correct" for i in range(index)),
        f"Paragraph {index}: wrong",
    ]
    assert named(reply) == index


def test_a_right_solution_has_no_wrong_paragraph():
    (reply,) = replies(question(LINES), 1, error=0)
    assert named(reply) == -1
    assert reply.text.count("correct") == len(LINES)


def test_paragraphs_of_several_lines_are_counted_as_one():
    halves = ["\n".join(LINES[:2]), "\n".join(wrong_at(2)[2:])]
    assert named(replies(question(halves), 1, error=0)[0]) == 1


def test_a_solution_that_stops_early_is_wrong_at_its_end():
    assert named(replies(question(LINES[:2]), 1, error=0)[0]) == 1


def test_independent_votes_err_as_often_as_they_are_told():
    votes = [named(r) for r in replies(question(LINES), 4000, error=0.3, shared=0)]
    wrong = sum(vote != -1 for vote in votes)
    assert abs(wrong - 1200) < 5 * (4000 * 0.3 * 0.7) ** 0.5
    assert set(votes) == set(range(-1, len(LINES)))


def test_shared_votes_are_all_alike_and_err_for_as_many_solutions():
    wrong = 0
    for seed in range(600):
        votes = {named(r) for r in replies(question(LINES), 3, seed=seed, error=0.3, shared=1)}
        assert len(votes) == 1
        wrong += votes != {-1}
    assert abs(wrong - 180) < 5 * (600 * 0.3 * 0.7) ** 0.5


def test_a_draw_depends_on_its_index_alone():
    together = replies(question(LINES), 6, error=0.5, shared=0)
    engine = SimulatedJudgeEngine(SimulatedJudgeSettings(error=0.5, shared=0))
    alone = asyncio.run(engine.complete(Prefix(question(LINES)), [4], SamplingParams(), 0))
    assert alone == [together[4]]


def test_replies_off_the_form_have_no_box():
    texts = Counter(r.text for r in replies(question(LINES), 50, error=0, off_form=1))
    assert texts == {"I cannot say.": 50}


def test_a_long_reply_is_cut_at_the_token_limit():
    (reply,) = replies(question(LINES), 1, SamplingParams(max_tokens=3), error=0)
    assert (reply.finish_reason, reply.n_tokens, len(reply.text)) == ("length", 3, 12)


@pytest.mark.parametrize("text", ["What is 6 x 7?", question(LINES, "What?"), question([])])
def test_a_question_of_another_kind_is_refused(text):
    with pytest.raises(EngineError, match="word problems"):
        replies(text, 1)


def test_it_is_known_by_its_name_and_says_that_it_is_simulated():
    load_engine_kinds()
    kind = ENGINES["simulated-judge"]
    engine = kind.open(kind.settings())
    assert engine.simulated
    assert engine.identity["simulated"] is True

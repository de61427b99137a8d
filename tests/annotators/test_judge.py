"""Votes on one solution: how many are drawn, what is kept, what never becomes a verdict."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.annotators.conftest import PROBLEM, solution

from stepmill.annotators.judge import Judge, JudgeSettings, NoAnswerCheck
from stepmill.annotators.judge_prompt import load_prompt
from stepmill.annotators.rollouts import Rollout
from stepmill.engines.base import Prefix, draw_seed
from stepmill.errors import EngineDead, EngineError, UserError
from stepmill.records import Completion, Evidence, Outcome, Problem, Verdict

SOLUTION = solution("abc")
CLEAN = "Paragraph 0: correct\nParagraph 1: correct\nParagraph 2: correct\n\\boxed{-1}"
SECOND = "Paragraph 0: correct\nParagraph 1: wrong\n\\boxed{1}"
NO_VOTE = "I would rather not."


@dataclass
class Replies:
    """Gives written replies, so every vote is known; draw i is reply i, then they start anew."""

    texts: Sequence[str | EngineError]
    policy: str = "judge"
    finish: str = "stop"
    asked: list[int] = field(default_factory=list)
    questions: set[str] = field(default_factory=set)

    async def rollouts(self, problem: Problem, prefix: Prefix, n: int) -> list[Rollout]:
        assert problem is PROBLEM
        assert prefix.text == ""
        self.asked.append(n)
        self.questions.add(prefix.question)
        wanted = [self.texts[i % len(self.texts)] for i in range(n)]
        for text in wanted:
            if isinstance(text, EngineError):
                raise text
        return [
            Rollout(Completion(str(text), self.finish, 7, i), Outcome(Verdict.UNKNOWN))
            for i, text in enumerate(wanted)
        ]


def judged(replies: Replies, **settings) -> Evidence:
    judge = Judge(replies, JudgeSettings(**settings), load_prompt("first-error-1"), seed=5)
    return asyncio.run(judge.evidence(PROBLEM, SOLUTION))


def votes(row: Evidence) -> list[int | None]:
    return [reply["first_error"] for reply in json.loads(row.detail)["replies"]]


def test_every_vote_is_kept_with_its_text_seed_and_tokens():
    replies = Replies([CLEAN, SECOND, SECOND])
    row = judged(replies, votes=3)
    assert (row.channel, row.step, row.policy, row.stop_reason) == ("judge", None, "judge", "fixed")
    assert votes(row) == [-1, 1, 1]
    assert row.verdict is Verdict.INCORRECT
    assert row.cost_tokens == 21
    detail = json.loads(row.detail)
    assert detail["template"] == "first-error-1"
    assert detail["prompt_hash"] == load_prompt("first-error-1").digest
    (question,) = replies.questions
    key = Prefix(question).key
    assert detail["replies"][2] == {
        "draw": 2,
        "seed": draw_seed(5, "judge", key, 2),
        "first_error": 1,
        "reason": "",
        "tokens": 7,
        "text": SECOND,
    }


def test_replies_that_do_not_count_are_made_up_for():
    replies = Replies([NO_VOTE, CLEAN, NO_VOTE, CLEAN, CLEAN])
    row = judged(replies, votes=3, retries=2)
    assert replies.asked == [3, 5]
    assert votes(row) == [None, -1, None, -1, -1]
    assert (row.n_unknown, row.n_truncated, row.stop_reason) == (2, 0, "fixed")
    assert row.verdict is Verdict.CORRECT


def test_after_the_retries_what_is_missing_stays_missing():
    replies = Replies([NO_VOTE])
    row = judged(replies, votes=2, retries=3)
    assert replies.asked == [2, 4, 5]
    assert row.verdict is Verdict.UNKNOWN
    assert (row.n_unknown, row.stop_reason) == (5, "too-few-votes")


def test_replies_that_were_cut_are_counted_apart():
    row = judged(Replies([CLEAN], finish="length"), votes=2, retries=0)
    assert (row.n_truncated, row.n_unknown, row.verdict) == (2, 0, Verdict.UNKNOWN)


def test_votes_that_are_even_tell_nothing():
    assert judged(Replies([CLEAN, SECOND]), votes=2).verdict is Verdict.UNKNOWN


def test_the_reference_is_shown_when_asked_for():
    for reference in (False, True):
        replies = Replies([CLEAN])
        row = judged(replies, votes=1, reference=reference)
        (question,) = replies.questions
        assert ("<reference_answer>\nz\n" in question) is reference
        assert json.loads(row.detail)["reference"] is reference


def test_a_question_that_the_engine_refuses_leaves_the_solution_unjudged():
    row = judged(Replies([EngineError("a prompt of 9000 tokens")]), votes=2)
    assert (row.verdict, row.stop_reason) == (Verdict.UNKNOWN, "refused")
    assert json.loads(row.detail)["refusal"] == "a prompt of 9000 tokens"


@pytest.mark.parametrize("failure", [EngineDead("gone"), EngineError("try again", retryable=True)])
def test_an_engine_that_fails_otherwise_ends_the_work(failure):
    with pytest.raises(EngineError, match=str(failure)):
        judged(Replies([failure]))


@given(st.lists(st.text(max_size=60), min_size=1, max_size=6))
def test_replies_without_the_form_never_make_a_verdict(texts):
    row = judged(Replies(texts), votes=len(texts), retries=1)
    assert row.verdict is Verdict.UNKNOWN
    assert set(votes(row)) == {None}
    assert all(reply["reason"] for reply in json.loads(row.detail)["replies"])


def test_a_reply_has_no_answer_to_be_checked():
    found = asyncio.run(NoAnswerCheck().check(CLEAN, PROBLEM, "stop"))
    assert found.verdict is Verdict.UNKNOWN


def test_an_unknown_template_is_refused_with_the_configuration():
    with pytest.raises(UserError, match="unknown judge template"):
        JudgeSettings(template="no-such")

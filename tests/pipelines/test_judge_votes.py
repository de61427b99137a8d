"""Votes as a table, as opinions, and as the data set's column; all evidence is written by hand."""

import json

import polars as pl
import pytest
from tests.pipelines.conftest import frames, make_problem, make_solution

from stepmill.errors import UserError
from stepmill.pipelines.judge_votes import Majority, opinions, vote_table, votes_by_step
from stepmill.records import Evidence

PROBLEM = make_problem("q")
SOLUTION = make_solution(PROBLEM, ["a\n", "b\n", "c\n"])


def judged(first_errors, solution=SOLUTION, policy="judge-a", prompt="p1") -> Evidence:
    """A judge's row with these votes (None: a reply that does not count)."""
    replies = [
        {"draw": i, "seed": 100 + i, "first_error": e, "reason": "", "tokens": 3, "text": f"t{i}"}
        for i, e in enumerate(first_errors)
    ]
    detail = json.dumps({"prompt_hash": prompt, "replies": replies})
    return Evidence(solution.id, None, "judge", policy, detail=detail)


def opinion(*rows, **settings):
    """(votes, first error, share) of the one solution."""
    found = opinions(*frames([SOLUTION], list(rows)), Majority(**settings))
    (row,) = found.select("n_votes", "opinion", "share").rows()
    return row


def test_only_replies_that_count_are_votes():
    votes = vote_table(frames([SOLUTION], [judged([1, None, -1])])[1])
    assert votes.select("draw", "seed", "first_error", "text").rows() == [
        (0, 100, 1, "t0"),
        (2, 102, -1, "t2"),
    ]


@pytest.mark.parametrize(
    ("votes", "settings", "expected"),
    [
        ([1, 1, 1], {}, (3, 1, 1.0)),
        ([1, 1, -1], {}, (3, 1, 2 / 3)),
        ([-1, -1, 0], {}, (3, -1, 2 / 3)),
        ([1, -1], {}, (2, None, None)),
        ([0, 1, 2], {}, (3, None, None)),
        ([1, 1, None, 2], {}, (3, 1, 2 / 3)),
        ([1, 1, -1], {"share": 0.7}, (3, None, None)),
        ([1, 1], {"min_votes": 3}, (2, None, None)),
    ],
)
def test_an_opinion_is_what_more_than_the_share_say(votes, settings, expected):
    assert opinion(judged(votes), **settings) == expected


def test_judges_and_templates_vote_together():
    rows = judged([1]), judged([2, 2], policy="judge-b"), judged([2], prompt="p2")
    assert opinion(*rows) == (4, 2, 0.75)


def test_a_solution_without_votes_has_no_row():
    other = make_solution(PROBLEM, ["x\n"])
    found = opinions(*frames([SOLUTION, other], [judged([1]), judged([None], other)]), Majority())
    assert found["solution_id"].to_list() == [SOLUTION.id]


@pytest.mark.parametrize("index", [3, -2])
def test_a_vote_for_a_step_that_there_is_not_is_refused(index):
    with pytest.raises(UserError, match=f"has 3 steps, and a judge's vote names step {index}"):
        opinion(judged([index]))


def test_a_judge_that_speaks_twice_is_refused():
    with pytest.raises(UserError, match="vote twice"):
        opinion(judged([1]), judged([1]))


@pytest.mark.parametrize("detail", ["", "[]", "{}", '{"prompt_hash": "p", "replies": [{}]}'])
def test_a_row_that_cannot_be_read_is_refused(detail):
    row = Evidence(SOLUTION.id, None, "judge", "judge-a", detail=detail)
    with pytest.raises(UserError, match=f"{SOLUTION.id}.*cannot be read"):
        opinion(row)


def test_the_column_has_each_vote_at_each_step_and_its_text_once():
    steps = pl.DataFrame({"id": [SOLUTION.id] * 3, "index": [0, 1, 2], "n_steps": [3] * 3})
    evidence = frames([SOLUTION], [judged([1, -1])])[1]
    found = votes_by_step(steps, evidence, {"judge-a": "The Judge"})
    assert found["index"].to_list() == [0, 1, 2]
    labels = [[v["label"] for v in votes] for votes in found["judge_votes"]]
    texts = [[v["rationale"] for v in votes] for votes in found["judge_votes"]]
    assert labels == [[1, 1], [0, 1], [None, 1]]
    assert texts == [[None, None], ["t0", None], [None, "t1"]]
    first = found["judge_votes"][0][0]
    assert (first["judge"], first["prompt_hash"], first["seed"]) == ("The Judge", "p1", 100)

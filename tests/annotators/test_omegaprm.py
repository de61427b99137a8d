"""The tree over scripted rollouts; a letter is a step, so "ab" is a prefix of two steps."""

import asyncio
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.annotators.conftest import PROBLEM, QUESTION, ScriptedSampler, chance_script, letters

from stepmill.annotators.omegaprm import OmegaPRM, OmegaPRMSettings, Tree, selection_score
from stepmill.annotators.rollouts import AliveSettings, Tally, tally
from stepmill.engines.base import Prefix
from stepmill.records import Verdict


def grow(root, script, root_tally=None, **settings) -> tuple[Tree, ScriptedSampler]:
    """Search the tree that grows from the rollouts `root`."""
    solver = ScriptedSampler({"": root})
    rollouts = asyncio.run(solver.rollouts(PROBLEM, Prefix(QUESTION), len(root)))
    completer = ScriptedSampler(script, "completer")
    tree = OmegaPRM(completer, PROBLEM, letters, "solver", OmegaPRMSettings(**{"k": 2, **settings}))
    return asyncio.run(tree.search(root_tally or tally(rollouts), rollouts)), completer


def texts(tree: Tree, verdict: Verdict = Verdict.INCORRECT) -> list[str]:
    return [s.text for s in tree.solutions if s.outcome.verdict is verdict]


def counts(tree: Tree, text: str):
    """c and k by step of one solution."""
    (wanted,) = (s.id for s in tree.solutions if s.text == text)
    return {e.step: (e.c or 0, e.k) for e in tree.evidence if e.solution_id == wanted}


@pytest.mark.parametrize(
    ("value", "length", "visits", "total", "expected"),
    [
        (0.5, 500, 0, 0, 0.636396),  # 0.5^0.5 * 0.9
        (0.75, 250, 2, 9, 0.797744 + 0.125),  # 0.5^0.25 * 0.9^0.5 + 0.125 * 3 / 3
        (0.25, 1000, 3, 16, 0.481629 + 0.125),  # 0.5^0.75 * 0.9^2 + 0.125 * 4 / 4
        (1.0, 0, 0, 0, 1.0),
    ],
)
def test_the_score_is_the_published_one_with_the_published_constants(
    value, length, visits, total, expected
):
    score = selection_score(value, length, visits, total, OmegaPRMSettings())
    assert score == pytest.approx(expected, abs=1e-6)


def test_a_popped_candidate_is_never_searched_again():
    tree, completer = grow(
        ["- abcd", "+ wxyz"],
        {"ab": ["+ zz", "- zy"], "abc": "-", "abz": "-"},
    )
    assert tree.n_searches == 2
    assert texts(tree) == ["abcd", "abzy"]
    assert completer.prefixes == ["ab", "abc", "abz"]
    assert tree.stop_reason == "no-candidates"


def test_a_text_drawn_twice_is_one_candidate_and_one_solution():
    tree, _ = grow(["- ab", "- ab", "+ cd", "+ cd"], {"a": ["+ cc", "- b"]}, keep_correct=10)
    assert tree.n_searches == 1
    assert texts(tree) == ["ab"]
    assert texts(tree, Verdict.CORRECT) == ["cd", "acc"]
    assert +tree.surplus == {"duplicate": 3}


EXPLORE = {"c_puct": 1, "alpha": 1, "beta": 0.5, "length_scale": 10}
"""With these Q = 0.5 ^ (tokens / 10) and U = sqrt(total visits) / (1 + own visits)."""


def test_a_visit_is_counted_on_selection():
    # First abcd (Q 0.93). Then the root has one visit: efgh has Q 0.81 + U 1/2 = 1.31, and abxy
    # from the unvisited ab has Q 0.5 + U 1 = 1.5. Were no visit counted, efgh would come first.
    tree, _ = grow(
        ["- abcd 1", "- efgh 3", "+ ijkl 1"],
        {"ab": ["+ zz 1", "- xy 10"], "abc": "-", "abx": "-", "ef": "-", "e": "-"},
        **EXPLORE,
    )
    assert texts(tree) == ["abcd", "abxy", "efgh"]


def test_scores_are_taken_anew_over_the_whole_tree():
    # Third choice, with two visits in all, one at the root and one at ab: efgh has
    # 0.5 + sqrt(2)/2 = 1.21 and abzw 0.435 + sqrt(2)/2 = 1.14. If the root still had its score
    # from one visit in all, 0.5 + 1/2 = 1, abzw would be chosen.
    tree, _ = grow(
        ["- abcd 1", "- efgh 10", "+ ijkl 1"],
        {
            "ab": ["+ zz 1", "- xy 8", "- zw 12"],
            **dict.fromkeys(["abc", "abx", "abz", "ef", "e"], "-"),
        },
        k=3,
        **EXPLORE,
    )
    assert texts(tree) == ["abcd", "abxy", "efgh", "abzw"]


def test_exploration_grows_with_the_visits_of_the_whole_tree():
    # Third choice, after two visits of the root: efgh has 0.93 + sqrt(2)/3 = 1.40, and abxy, from
    # the unvisited ab, 0.10 + sqrt(2) = 1.52. With one visit in all they would have 1.27 and 1.10.
    tree, _ = grow(
        ["- abcd 1", "- a 1", "- efgh 1", "+ ijkl 1"],
        {"ab": ["+ zz 1", "- xy 33"], "abc": "-", "abx": "-", "ef": "-", "e": "-"},
        **EXPLORE,
    )
    assert texts(tree) == ["abcd", "a", "abxy", "efgh"]


def test_a_state_that_succeeds_more_often_goes_first():
    # Q with alpha 0.5: from abcd's prefix ab (2 of 3 right) 0.79, from the root (1 of 3) 0.63.
    tree, _ = grow(
        ["- abcd 1", "- efgh 2", "+ ijkl 1"],
        {"ab": ["+ zz", "+ zx", "- xy 2"], "abc": "-", "abx": "-", "ef": "-", "e": "-"},
        k=3,
        c_puct=0,
    )
    assert texts(tree) == ["abcd", "abxy", "efgh"]


def test_the_limit_of_searches_ends_the_tree():
    tree, _ = grow(["- ab", "- cd", "- ef", "+ g"], {"a": "-", "c": "-"}, searches=2)
    assert (tree.n_searches, tree.stop_reason) == (2, "searches")
    assert texts(tree) == ["ab", "cd"]
    assert tree.surplus["not-searched"] == 1


def test_the_budget_of_rollouts_ends_the_tree_after_the_search_that_is_under_way():
    root, script = ["- abcd", "- efgh", "+ i"], {"ab": "+", "abc": "-", "ef": "-", "e": "-"}
    tree, completer = grow(root, script, budget=1)
    assert (tree.n_searches, tree.stop_reason) == (1, "budget")
    assert completer.prefixes == ["ab", "abc"]
    tree, _ = grow(root, script, budget=4)
    assert (tree.n_searches, tree.stop_reason) == (1, "budget")
    tree, _ = grow(root, script, budget=5)
    assert (tree.n_searches, tree.stop_reason) == (2, "no-candidates")


def test_draws_without_an_outcome_use_up_the_budget_too():
    tree, _ = grow(["- ab", "- cd", "+ e"], {"a": "t", "c": "-"}, budget=4)
    assert (tree.n_searches, tree.stop_reason) == (1, "budget")


def test_an_unknown_outcome_enters_neither_pool_nor_counts():
    tree, _ = grow(
        ["? abcd", "t efgh", "- ijkl", "+ mnop"],
        {"ij": ["+ zz", "? qq", "- yy"], "ijk": "-", "ijy": "-"},
    )
    assert texts(tree) == ["ijkl", "ijyy"]
    assert texts(tree, Verdict.UNKNOWN) == []
    assert counts(tree, "ijkl") == {1: (1, 2), 2: (0, 2)}
    assert tree.surplus["outcome-unknown"] == 3


def test_right_rollouts_are_cut_into_steps_wherever_they_begin():
    tree, _ = grow(["+ abcd", "- efgh"], {"ef": ["+ zyx", "- q"], "efg": "-"})
    root, branch = (s for s in tree.solutions if s.outcome.verdict is Verdict.CORRECT)
    assert [s.text for s in root.steps] == list("abcd")
    assert (root.origin, root.token_ids) == ("root", None)
    assert branch.text == "efzyx"
    assert [(s.index, s.text, s.start, s.end) for s in branch.steps] == [
        (i, letter, i, i + 1) for i, letter in enumerate("efzyx")
    ]
    assert branch.origin == "tree"


def test_only_so_many_right_solutions_are_kept_besides_the_searched_ones():
    tree, _ = grow(["+ a", "+ b", "+ c", "- d"], {}, keep_correct=2)
    assert texts(tree, Verdict.CORRECT) == ["a", "b"]
    assert texts(tree) == ["d"]
    assert +tree.surplus == {"enough-correct": 1}


def test_the_last_step_is_decided_by_the_outcome_and_gets_no_rollouts():
    tree, completer = grow(["- a", "+ b", "- cd"], {"c": "+"})
    assert completer.prefixes == ["c"]
    assert tree.n_searches == 2
    assert counts(tree, "cd") == {0: (2, 2)}


@pytest.mark.parametrize(
    ("root", "wrong"), [(["- ab", "- cd"], 2), (["+ ab", "+ cd"], 0), (["? ab", "t cd"], 0)]
)
def test_a_problem_that_is_always_or_never_solved_has_no_candidates(root, wrong):
    tree, completer = grow(root, {})
    assert (tree.n_searches, tree.stop_reason, completer.asked) == (0, "no-candidates", [])
    assert tree.surplus["prefix-not-alive"] == wrong


def test_the_wrong_rollouts_of_a_dead_prefix_are_no_candidates():
    tree, _ = grow(["- abcd", "+ e"], {"ab": ["- zz", "- yy"], "a": ["+ x", "+ w"]})
    assert texts(tree) == ["abcd"]
    assert tree.surplus["prefix-not-alive"] == 2


def test_under_a_share_a_success_does_not_make_a_dead_prefix_a_place_to_search_from():
    tree, completer = grow(
        ["- abcd", "+ e"],
        {"ab": ["+ z", "- yy", "- yx", "- yw"], "a": "+"},
        k=4,
        alive=AliveSettings(by="fraction", threshold=0.5),
    )
    assert completer.prefixes == ["ab", "a"]
    assert tree.n_searches == 1
    assert tree.surplus["prefix-not-alive"] == 3


def test_an_undecided_prefix_ends_a_search_and_stays_in_the_evidence():
    tree, completer = grow(["- abcd", "+ e"], {"ab": "?"})
    assert completer.prefixes == ["ab"]
    assert [(e.step, e.k, e.n_unknown, e.stop_reason) for e in tree.evidence] == [
        (1, 0, 4, "too-few-known")
    ]


def test_the_counts_at_a_shared_prefix_are_evidence_of_every_solution_through_it():
    tree, completer = grow(
        ["- abcd", "+ abzz", "- abyy", "+ b"],
        {"ab": ["+ x", "- w"], "abc": "-", "aby": "+"},
    )
    assert completer.prefixes.count("ab") == 1
    assert counts(tree, "abcd") == {1: (1, 2), 2: (0, 2)}
    assert counts(tree, "abyy") == {1: (1, 2), 2: (2, 2)}
    assert counts(tree, "abzz") == counts(tree, "abx") == counts(tree, "abw") == {1: (1, 2)}
    assert counts(tree, "b") == {}
    assert {e.policy for e in tree.evidence} == {"completer"}


def test_solutions_of_a_policy_are_searched_even_if_the_completer_always_solves_the_problem():
    tree, _ = grow(["- ab", "- cd"], {"a": "-", "c": "+"}, root_tally=Tally(c=8, k=8))
    assert texts(tree) == ["ab", "cd"]


trees = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "n": st.integers(1, 10),
        "k": st.integers(1, 4),
        "searches": st.integers(1, 30),
        "budget": st.integers(1, 100),
        "keep_correct": st.integers(0, 5),
    }
)


@given(trees, st.sampled_from(["+-", "+--?t"]))
def test_every_rollout_is_accounted_for_and_nothing_is_done_twice(case, signs):
    script = chance_script(case.pop("seed"), signs, range(1, 6), "ab")
    root = list(script(""))[: case.pop("n")]
    tree, completer = grow(root, script, **case)

    drawn = dict(completer.asked)  # the last request at a prefix is the largest
    assert len(tree.solutions) + tree.surplus.total() == len(root) + sum(drawn.values())
    assert [text for text, _ in groupby(completer.asked, key=lambda a: a[0])] == list(drawn)
    assert "" not in drawn
    assert len({s.id for s in tree.solutions}) == len(tree.solutions)
    assert len(texts(tree)) == tree.n_searches <= case["searches"]
    assert len(texts(tree, Verdict.CORRECT)) <= case["keep_correct"]
    for solution in tree.solutions:
        assert "".join(s.text for s in solution.steps) == solution.text
        assert [s.index for s in solution.steps] == list(range(len(solution.steps)))
        found = counts(tree, solution.text)
        assert set(found) == {len(p) - 1 for p in drawn if solution.text[:-1].startswith(p)}


@given(trees)
def test_every_search_ends_between_a_living_and_a_dead_prefix(case):
    script = chance_script(case.pop("seed"), "+-", range(1, 9), "abcd")
    root = list(script(""))[: case.pop("n")]
    tree, _ = grow(root, script, **case)
    for text in texts(tree):
        found = counts(tree, text)
        alive = [True, *(found[t][0] > 0 if t in found else None for t in range(len(text) - 1))]
        assert any(a is True and b is False for a, b in pairwise([*alive, False]))

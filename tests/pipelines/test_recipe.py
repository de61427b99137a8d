"""Recipes: each runs, and its defining rule is shown on evidence worked out by hand."""

import pytest
from pydantic import TypeAdapter
from tests.pipelines.conftest import counts, frames, make_problem, make_solution
from tests.pipelines.test_judge_votes import judged

from stepmill.errors import UserError
from stepmill.pipelines.labels import LABEL_RULES, LabelSettings, label
from stepmill.pipelines.recipe import engine_of, load_recipe, recipe_config, recipe_names
from stepmill.records import LabelKind, Verdict

RIGHT, WRONG = Verdict.CORRECT, Verdict.INCORRECT
DRAWN = {-1: (10, 20), 0: (6, 8), 1: (1, 8), 2: (0, 8), 3: (2, 8)}
"""A wrong solution of five steps: rollouts recover once after the first dead prefix."""


def config_of(name, *changes):
    return recipe_config(name, "generated", "simulated", None, changes)[0]


def labelled(name, drawn=None, votes=(), verdict=WRONG):
    """(labels, first error, left out) of one solution of five steps by the recipe's rule."""
    solution = make_solution(make_problem("q"), [f"step {i}\n" for i in range(5)], verdict)
    evidence = counts(solution, DRAWN if drawn is None else drawn)
    if votes:
        evidence.append(judged(votes, solution))
    rule = config_of(name).label
    found = label(*frames([solution], evidence), rule)
    soft = LABEL_RULES[rule.rule].kind is LabelKind.VALUE
    left_out = found.solutions["left_out"][0] if "left_out" in found.solutions.columns else None
    return (
        found.steps["soft" if soft else "hard"].to_list(),
        found.solutions["first_error"][0],
        left_out,
    )


def test_math_shepherd_hard_calls_a_step_good_if_any_rollout_succeeds():
    """HE of the paper, eq. 1: not forced to be monotone; the last step is the answer's."""
    assert labelled("math-shepherd-hard")[0] == [1, 1, 0, 1, 0]


def test_math_shepherd_soft_is_the_share_of_rollouts_that_succeed():
    """SE of the paper, eq. 2."""
    assert labelled("math-shepherd-soft")[0] == [6 / 8, 1 / 8, 0, 2 / 8, 0]


def test_omegaprm_gives_each_probed_prefix_its_value():
    """Halving probed the prefixes of 3 steps (0 of 8), 1 step (6 of 8), 2 steps (1 of 8)."""
    halved = {2: (0, 8), 0: (6, 8), 1: (1, 8)}
    assert labelled("omegaprm", halved)[:2] == ([6 / 8, 1 / 8, 0, None, 0], 2)


@pytest.mark.parametrize(
    ("votes", "labels", "left_out"),
    [
        ([2], [1, 1, 0, None, None], None),
        ([1], [None] * 5, "channels-disagree"),
        ([-1], [None] * 5, "channels-disagree"),
        ([None], [None] * 5, "no-votes"),
    ],
)
def test_qwen_consensus_keeps_what_agrees_on_the_first_error(votes, labels, left_out):
    found, _, reason = labelled("qwen-consensus", votes=votes)
    assert (found, reason) == (labels, left_out)


def test_qwen_consensus_keeps_right_solutions_in_which_neither_finds_an_error():
    alive = {step: (8, 8) for step in range(4)}
    assert labelled("qwen-consensus", alive, [-1], RIGHT) == ([1] * 5, -1, None)
    assert labelled("qwen-consensus", alive, [3], RIGHT)[2] == "channels-disagree"


def test_freeprm_gives_every_step_the_outcome():
    assert labelled("freeprm", {})[0] == [0] * 5
    assert labelled("freeprm", {}, verdict=RIGHT)[0] == [1] * 5


def test_change_point_reads_all_counts_for_one_fall():
    """14 of 16 before, none after: one success of eight behind the fall is self-correction."""
    drawn = {-1: (28, 32), 0: (14, 16), 1: (0, 16), 2: (1, 16), 3: (0, 16)}
    assert labelled("change-point", drawn)[:2] == ([1, 0, None, None, None], 1)


def test_every_recipe_says_where_it_comes_from_and_what_it_costs():
    assert len(recipe_names()) >= 6
    for name in recipe_names():
        recipe = load_recipe(name)
        assert all((recipe.title, recipe.source, recipe.cost, recipe.differs))
        assert {"problems", "policy"}.isdisjoint(recipe.config)
        assert config_of(name).name == name
        TypeAdapter(LabelSettings).validate_python(recipe.config["label"])


@pytest.mark.parametrize(
    ("model", "engine"),
    [
        ("http://127.0.0.1:8000", {"kind": "server", "urls": ["http://127.0.0.1:8000"]}),
        ("simulated", {"kind": "simulated"}),
        ("tiny", {"kind": "embedded", "model": "tiny"}),
        ("smollm2", {"kind": "embedded", "model": "smollm2"}),
        ("Qwen/Qwen2.5-7B-Instruct", {"kind": "vllm", "model": "Qwen/Qwen2.5-7B-Instruct"}),
    ],
)
def test_the_engine_follows_from_the_model_s_name(model, engine):
    assert engine_of(model) == engine


def test_without_a_model_the_small_one_is_taken_and_that_is_said():
    config, told = recipe_config("freeprm", "questions.jsonl", None, None, [])
    assert config.policy.engine["kind"] == "embedded"
    assert config.problems.model_dump()["path"] == "questions.jsonl"
    assert len(told) == 1
    assert "`tiny`" in told[0]


def test_the_judge_is_the_solver_s_model_unless_it_is_named():
    config, told = recipe_config("qwen-consensus", "q.jsonl", "org/model", None, [])
    assert config.judge is not None
    assert config.judge.engine == config.policy.engine
    assert "org/model" in told[0]
    config, told = recipe_config("qwen-consensus", "q.jsonl", "org/model", "org/judge", [])
    assert config.judge is not None
    assert config.judge.engine["model"] == "org/judge"
    assert told == []


def test_a_model_that_is_too_small_to_judge_is_said_to_be():
    assert "tiny, too small to judge" in recipe_config("qwen-consensus", "q", None, None, [])[1][1]


def test_a_simulated_policy_gets_a_simulated_judge():
    judge = config_of("qwen-consensus").judge
    assert judge is not None
    assert judge.engine["kind"] == "simulated-judge"


def test_changes_win_over_the_recipe():
    config = config_of("qwen-consensus", "judge.votes=7", "search.k=3", "segmenter.kind=sentence")
    assert config.judge is not None
    assert (config.judge.votes, config.search.k) == (7, 3)
    assert config.segmenter.kind == "sentence"
    config, told = recipe_config("freeprm", "x", None, None, ["policy.engine.kind=simulated"])
    assert config.policy.engine["kind"] == "simulated"
    assert told == []


def test_questions_without_a_file_are_the_generated_ones(tmp_path, monkeypatch):
    assert config_of("freeprm").problems.kind == "generated"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "generated").mkdir()  # a folder of that name is a folder
    assert config_of("freeprm").problems.kind == "file"


def test_an_unknown_recipe_is_refused_with_the_nearest_name():
    with pytest.raises(UserError, match="Did you mean 'omegaprm'"):
        load_recipe("omegapr")

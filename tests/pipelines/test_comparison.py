"""Where two rules differ, on a stored run whose every number was chosen by hand."""

import pytest
import yaml
from tests.pipelines.conftest import counts, make_problem, make_solution
from tests.pipelines.test_judge_votes import judged

from stepmill.errors import UserError
from stepmill.pipelines.comparison import compare
from stepmill.pipelines.config import check_config
from stepmill.pipelines.labels import HardRule, JudgeRule, SoftRule
from stepmill.records import Verdict

PROBLEM = make_problem("q")
FIRST = make_solution(PROBLEM, ["a\n", "b\n", "c\n"], Verdict.INCORRECT)
SECOND = make_solution(PROBLEM, ["d\n", "e\n"], Verdict.INCORRECT)
EVIDENCE = [
    *counts(FIRST, {0: (4, 8), 1: (1, 8)}),  # rollouts: 1 1 0
    judged([1], FIRST),  # the judge: 1 0 -
    *counts(SECOND, {0: (0, 8)}),  # rollouts: 0 -
    judged([0], SECOND),  # the judge: the same
]


@pytest.fixture
def run(rundir, write_part):
    """A finished run of one shard."""
    config = {
        "problems": {"kind": "generated"},
        "policy": {"engine": {"kind": "simulated"}},
    }
    resolved = check_config(config, "test").model_dump(mode="json")
    rundir.config_file.write_text(yaml.safe_dump({"name": "x", "config": resolved}))
    write_part(0, [PROBLEM], [FIRST, SECOND], EVIDENCE)
    rundir.write_json(rundir.manifest(0), {})
    return rundir.root


def test_a_rule_does_not_differ_from_itself(run):
    found = compare(run, HardRule(), HardRule())
    assert found["solutions"] == {"total": 2, "differing": 0}
    assert found["steps"] == {"equal": 4, "differ": 0, "only_a": 0, "only_b": 0, "neither": 1}
    assert found["kappa"] == 1
    assert found["examples"] == []


def test_rules_are_held_side_by_side_step_by_step(run):
    found = compare(run, HardRule(), JudgeRule())
    assert found["solutions"] == {"total": 2, "differing": 1}
    assert found["steps"] == {"equal": 2, "differ": 1, "only_a": 1, "only_b": 0, "neither": 1}
    assert found["first_error"]["equal"] == 1
    assert found["first_error"]["differ"] == 1
    assert found["moves"] == {"1 -> 0": 1}
    # of three steps labelled by both, two agree; by chance it would be 2/3 * 1/3 + 1/3 * 2/3
    assert found["kappa"] == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    (example,) = found["examples"]
    assert (example["solution_id"], example["step"], example["text"]) == (FIRST.id, 1, "b\n")
    assert example["a"] == {"label": 1, "because": "rollout", "first_error": 2}
    assert example["b"] == {"label": 0, "because": "judge", "first_error": 1}


def test_soft_labels_are_compared_by_their_distance(run):
    found = compare(run, SoftRule(smooth="never"), SoftRule(smooth="always"))
    # 4/8 stays; 1/8 becomes 2/10, 0/8 becomes 1/10; the last step of a wrong solution is 0 in both
    assert found["steps"]["differ"] == 2
    assert found["mean_distance"] == pytest.approx((0.075 + 0.1) / 4)
    assert found["kappa"] is None


def test_labels_of_two_kinds_are_not_compared_as_numbers(run):
    found = compare(run, HardRule(), SoftRule())
    assert found["kinds"] == ["validity", "value"]
    assert found["steps"] == {"both": 4, "only_a": 0, "only_b": 0, "neither": 1}
    assert found["mean_distance"] is None
    assert found["moves"] == {}


def test_examples_are_as_many_as_wanted(run):
    assert compare(run, HardRule(), JudgeRule(), examples=0)["examples"] == []


def test_a_run_that_is_not_finished_is_refused(run, rundir):
    rundir.manifest(0).unlink()
    with pytest.raises(UserError, match="1 of 1 shards are not done"):
        compare(run, HardRule(), JudgeRule())

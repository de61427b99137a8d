"""A run with a judge from end to end, on simulated models."""

import json
from typing import Any

import polars as pl
import pytest

from stepmill.cli import main
from stepmill.errors import UserError
from stepmill.pipelines.config import check_config
from stepmill.pipelines.figures import summary_lines
from stepmill.pipelines.finish import finish, label_rule
from stepmill.pipelines.inspection import overview
from stepmill.pipelines.planning import bound
from stepmill.pipelines.run import prepare, run_here
from stepmill.pipelines.workshop import close_workshop

SETTINGS: dict[str, Any] = {
    "name": "judged",
    "problems": {"kind": "generated", "n": 6, "seed": 2, "max_steps": 5},
    "policy": {"engine": {"kind": "simulated", "skill": 0.8}, "sampling": {"max_tokens": 400}},
    "judge": {"engine": {"kind": "simulated-judge", "error": 0.2, "off_form": 0.2}, "votes": 3},
    "segmenter": {"kind": "line"},
    "solutions": {"n": 4},
    "search": {"method": "every-step", "k": 4},
    "label": {"rule": "consensus"},
    "run": {"shard_size": 3},
}


def gather(out, reuse=(), **changes):
    """Run, finish, and return the figures."""
    config = check_config({**SETTINGS, **changes}, "test")
    try:
        prepared = prepare(config, out, reuse)
        run_here(prepared, 2)
    finally:
        close_workshop(out)
    return finish(out)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("judged") / "run"
    gather(out)
    return out


def table(run, name):
    return pl.read_parquet(run / name / "*.parquet")


def test_each_solution_has_one_row_of_votes_and_the_data_set_shows_them(run):
    judged = table(run, "evidence").filter(channel="judge")
    assert sorted(judged["solution_id"]) == sorted(table(run, "solutions")["id"])
    replies = {row["solution_id"]: json.loads(row["detail"]) for row in judged.to_dicts()}
    for row in table(run, "data").to_dicts():
        votes = [r for r in replies[row["id"]]["replies"] if r["first_error"] is not None]
        for step in row["steps"]:
            shown = [(v["seed"], v["label"]) for v in step["judge_votes"]]
            named = [
                1 if e == -1 or step["index"] < e else 0 if step["index"] == e else None
                for e in (v["first_error"] for v in votes)
            ]
            assert shown == list(zip((v["seed"] for v in votes), named, strict=True))
            assert {v["judge"] for v in step["judge_votes"]} <= {"simulated-judge"}


def test_every_reply_lies_in_the_ledger_and_is_counted_apart_from_rollouts(run):
    metrics = json.loads((run / "metrics.json").read_text())
    rollouts = table(run, "rollouts")
    problems = table(run, "problems").select("question")
    asked = rollouts.join(problems, on="question", how="anti")
    assert asked.height == metrics["judge"]["replies"] > 0
    assert metrics["completions"]["total"] == rollouts.height - asked.height
    assert metrics["completions"]["from_problem"] == 24
    assert "judge-reply" not in metrics["unknown_reasons"]
    assert metrics["judge"]["solutions"] == table(run, "solutions").height
    assert metrics["tokens"]["generated"] == rollouts["n_tokens"].sum()
    (line,) = (line for line in summary_lines(metrics) if line.startswith("  judge"))
    assert f"{asked.height} replies on" in line


def test_the_judge_and_its_wording_are_in_the_provenance(run):
    facts = json.loads((run / "policy.json").read_text())
    assert facts["policies"]["judge"]["engine"]["kind"] == "simulated-judge"
    assert len(facts["judge_prompt"]) == 16
    judged = table(run, "evidence").filter(channel="judge")
    assert set(judged["policy"]) == {facts["policies"]["judge"]["fingerprint"]}
    card = (run / "README.md").read_text()
    assert "Judged by" in card
    assert "the opinion of a model" in card


def test_another_run_takes_the_replies_over_and_pays_for_none(run, tmp_path):
    metrics = gather(tmp_path / "again", [run], solutions={"n": 4, "max_correct": 5})
    assert metrics["paid"]["completions"] == 0
    assert metrics["judge"] == json.loads((run / "metrics.json").read_text())["judge"]


def test_more_votes_pay_only_for_what_is_missing(run, tmp_path):
    judge = {**SETTINGS["judge"], "votes": 4}
    metrics = gather(tmp_path / "more", [run], judge=judge)
    before = json.loads((run / "metrics.json").read_text())["judge"]["replies"]
    assert metrics["judge"]["replies"] - before == metrics["paid"]["completions"] > 0


def test_another_judge_is_another_run(run):
    with pytest.raises(UserError, match=r"differs in judge\.votes"):
        prepare(check_config({**SETTINGS, "judge": {**SETTINGS["judge"], "votes": 9}}, "t"), run)


def test_a_plan_counts_the_judge(run):
    config = check_config(SETTINGS, "test")
    assert bound(config, 5).replies.total == 6 * 4 * (3 + 3)
    assert bound(config.model_copy(update={"judge": None}), 5).replies.total == 0


def test_a_view_leaves_the_data_set_alone_and_is_read_like_a_run(run):
    before = {p.name: p.read_bytes() for p in (run / "data").iterdir()}
    metrics = finish(run, label_rule({"rule": "judge"}), "mine")
    assert {p.name: p.read_bytes() for p in (run / "data").iterdir()} == before
    view = run / "views" / "mine"
    assert overview(view)["metrics"] == metrics
    assert set(pl.read_parquet(view / "data" / "*.parquet")["label_rule"]) != set(
        table(run, "data")["label_rule"]
    )
    with pytest.raises(UserError, match="it is a view of"):
        finish(view, label_rule({"rule": "hard"}))


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden"])
def test_a_view_needs_the_name_of_a_folder(run, name):
    with pytest.raises(UserError, match="--as"):
        finish(run, label_rule({"rule": "judge"}), name)


def test_what_a_rule_leaves_out_is_counted_by_reason(run):
    metrics = finish(run, label_rule({"rule": "consensus", "disagreement": "drop"}), "dropped")
    kept = finish(run, label_rule({"rule": "consensus"}), "kept")
    left_out = {
        reason: n
        for reason, n in metrics["data"]["dropped"].items()
        if reason not in kept["data"]["dropped"]
    }
    assert sum(left_out.values()) == kept["data"]["rows"] - metrics["data"]["rows"] > 0
    assert metrics["data"]["first_error"].get("unknown", 0) == 0


def test_the_command_compares_rules_and_views_and_writes_nothing(run, capsys):
    finish(run, label_rule({"rule": "judge"}), "mine")
    before = sorted(run.rglob("*"))
    assert main(["label", str(run), "--compare", "mine", "consensus majority.share=0.6"]) == 0
    told = capsys.readouterr().out
    assert "solutions" in told
    assert '"share": 0.6' in told
    assert main(["label", str(run), "--compare", "hard", "judge", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["a"]["rule"] == "hard"
    assert sorted(run.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a rule with --rule, or two with --compare"),
        (["--compare", "hard", "soft", "--rule", "hard"], "--compare takes no --rule"),
        (["--compare", "hard", "sotf"], "Did you mean 'soft'"),
        (["--rule", "consensus", "--set", "majority.share=0.2"], "share"),
    ],
)
def test_a_mistake_on_the_command_line_is_told(run, capsys, words, message):
    assert main(["label", str(run), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_recipe_runs_from_the_command_line_without_a_configuration(tmp_path, capsys):
    out = tmp_path / "run"
    words = ["--recipe", "qwen-consensus", "generated", "--model", "simulated", "--limit", "3"]
    assert main(["run", *words, "--no-prefect", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert "no judge was named: it is simulated-judge" in captured.err
    assert table(out, "evidence").filter(channel="judge").height > 0
    assert main(["run", "x.yaml", "--model", "y", "--out", str(out)]) == 2
    assert "--model and --judge go with --recipe" in capsys.readouterr().err


def test_the_recipes_are_listed_with_source_and_cost(capsys):
    assert main(["recipes"]) == 0
    told = capsys.readouterr().out
    for word in ("math-shepherd-hard", "arXiv:2501.07301", "cost", "stepmill run --recipe"):
        assert word in told
    assert main(["recipes", "freeprm"]) == 0
    assert "rule: outcome" in capsys.readouterr().out
    assert main(["recipes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["omegaprm"]["config"]["search"]["k"] == 8


def test_a_judge_that_cannot_take_the_questions_costs_no_problem(tmp_path):
    """The simulated policy refuses what is no word problem, as an engine refuses a long prompt."""
    judge = {"engine": {"kind": "simulated"}, "votes": 1}
    metrics = gather(tmp_path / "refused", judge=judge)
    assert metrics["problems"]["refused"] == 0
    assert metrics["judge"]["refused"] == metrics["judge"]["solutions"] > 0
    assert "refused by its engine" in "\n".join(summary_lines(metrics))
    assert metrics["data"]["first_error"] == {"unknown": metrics["data"]["rows"]}

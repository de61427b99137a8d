"""The console command as a person types it: help, mistakes, interruption."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from stepmill.cli import COMMANDS, main

SMALL = {
    "name": "small",
    "problems": {"kind": "generated", "n": 6, "seed": 2, "max_steps": 5},
    "policy": {"engine": {"kind": "simulated"}, "sampling": {"max_tokens": 400}},
    "segmenter": {"kind": "line"},
    "solutions": {"n": 4},
    "search": {"method": "binary", "k": 4},
    "run": {"shard_size": 3},
}


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(SMALL))
    return path


def changed(config, **changes):
    config.write_text(yaml.safe_dump({**SMALL, **changes}))
    return str(config)


def fails(capsys, *words):
    """Exit code 2 and a single line on standard error, which is returned."""
    assert main(list(words)) == 2
    captured = capsys.readouterr()
    line = captured.err.strip().splitlines()[-1]
    assert line.startswith("stepmill: ")
    assert "Traceback" not in captured.err
    return line


def test_help_imports_nothing_heavy():
    heavy = "polars pyarrow prefect torch vllm pydantic rich yaml aiohttp z3 sympy"
    code = (
        "import sys; from stepmill.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        f"print([m for m in {heavy!r}.split() if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in COMMANDS)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_run_ends_with_figures_and_a_second_one_is_a_no_op(config, tmp_path, capsys):
    words = ["run", str(config), "--out", str(tmp_path / "out"), "--no-prefect", "--json"]
    assert main(words) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["problems"]["total"] == 6
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out) == first


def test_inspect_show_and_label_read_a_finished_run(config, tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["run", str(config), "--out", out, "--no-prefect"]) == 0
    summary = capsys.readouterr().out
    assert "SIMULATED" in summary
    assert f"stepmill inspect {out}" in summary
    assert main(["inspect", out]) == 0
    assert "Labels by position" in capsys.readouterr().out
    assert main(["inspect", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["name"] == "small"
    assert main(["show", out]) == 0
    shown = capsys.readouterr().out
    assert "first error" in shown
    assert "SIMULATED" in shown
    assert main(["show", out, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert main(["show", out, row["id"][:10]]) == 0
    assert row["id"] in capsys.readouterr().out
    assert main(["label", out, "--rule", "soft", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["label_kind"] == "value"


def test_plan_bounds_and_pilots_without_touching_a_run(config, capsys):
    assert main(["plan", str(config), "--json"]) == 0
    bounds = json.loads(capsys.readouterr().out)
    assert bounds["solutions"] == {"total": 24, "error": None}
    assert main(["plan", str(config), "--pilot", "3", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["solutions"]["total"] == 24
    assert 0 < measured["rollouts"]["total"] <= bounds["rollouts"]["total"]
    assert measured["seconds"] > 0


def test_a_schema_names_every_engine(capsys):
    assert main(["config", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    for kind in ("embedded", "replay", "server", "simulated", "vllm"):
        assert f"engine-{kind}" in schema["$defs"]


def test_mistakes_are_one_line_that_says_what_to_do(config, tmp_path, capsys):
    assert "no configuration file" in fails(capsys, "run", str(tmp_path / "none.yaml"))
    (tmp_path / "broken.yaml").write_text("problems: [")
    assert "line " in fails(capsys, "run", str(tmp_path / "broken.yaml"))
    assert "Did you mean 'temperature'" in fails(
        capsys, "run", str(config), "--set", "policy.sampling.temprature=1"
    )
    assert "Did you mean 'solutions'" in fails(capsys, "run", str(config), "--set", "solution.n=2")
    assert "Did you mean 'simulated'" in fails(
        capsys, "run", str(config), "--set", "policy.engine.kind=simulatd"
    )
    assert "search.k" in fails(capsys, "run", str(config), "--set", "search.k=many")
    assert "key=value" in fails(capsys, "run", str(config), "--set", "search.k")
    assert "not a run directory" in fails(capsys, "inspect", str(tmp_path))
    assert "at least 1" in fails(capsys, "run", str(config), "--limit", "0")


def test_a_missing_question_file_and_a_wrong_column_are_named(config, tmp_path, capsys):
    missing = changed(config, problems={"kind": "file", "path": str(tmp_path / "q.jsonl")})
    assert "q.jsonl" in fails(capsys, "run", missing, "--out", str(tmp_path / "out"))
    (tmp_path / "q.jsonl").write_text('{"question": "1 + 1?", "answr": "2"}\n')
    wrong = changed(
        config,
        problems={
            "kind": "file",
            "path": str(tmp_path / "q.jsonl"),
            "fields": {"question": "question", "answer": "answer"},
        },
    )
    assert "answr" in fails(capsys, "run", wrong, "--out", str(tmp_path / "out"))


def test_an_unreachable_server_is_said_before_anything_is_asked(config, tmp_path, capsys):
    policy = {"engine": {"kind": "server", "urls": ["http://127.0.0.1:9/v1"]}}
    words = ["run", changed(config, policy=policy), "--out", str(tmp_path / "o"), "--no-prefect"]
    assert "127.0.0.1:9" in fails(capsys, *words)


def test_the_directory_of_another_configuration_is_refused(config, tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["run", str(config), "--out", out, "--no-prefect"]) == 0
    assert "search.k" in fails(capsys, "run", str(config), "--out", out, "--set", "search.k=5")


@pytest.mark.slow
def test_ctrl_c_once_keeps_the_journal_and_prints_how_to_continue(config, tmp_path):
    slow = changed(
        config,
        policy={
            "engine": {"kind": "simulated", "latency": 0.5},
            "sampling": {"max_tokens": 400},
        },
    )
    out = tmp_path / "out"
    command = [sys.executable, "-m", "stepmill", "run", slow, "--out", str(out), "--no-prefect"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = out / "journal" / "00000.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "to continue: stepmill run" in err
    assert "Traceback" not in err
    kept = journal.read_bytes().count(b'"t":"completion"')
    assert kept > 0
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_ctrl_c_twice_stops_at_once(config, tmp_path):
    slow = changed(
        config,
        policy={
            "engine": {"kind": "simulated", "latency": 60},
            "sampling": {"max_tokens": 400},
        },
    )
    command = [sys.executable, "-m", "stepmill", "run", slow, "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [*command, "--no-prefect"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    while process.poll() is None and not (tmp_path / "out" / "policy.json").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert b"finishing" in process.stderr.readline() + process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


def test_an_interruption_while_modules_load_is_no_traceback(monkeypatch, capsys):
    def interrupted(_command):
        raise KeyboardInterrupt

    monkeypatch.setattr("stepmill.cli._module", interrupted)
    assert main(["inspect", "somewhere"]) == 130
    assert capsys.readouterr().err == "stepmill: interrupted\n"


def test_words_of_a_rule_with_an_open_quotation_mark_are_refused(tmp_path, capsys):
    assert "not closed" in fails(capsys, "label", str(tmp_path), "--compare", "hard 'x", "soft")


def test_imported_labels_are_inspected_like_those_of_a_run(tmp_path, capsys):
    record = {
        "problem": "2 + 3?",
        "steps": ["It is 6."],
        "label": 0,
        "final_answer_correct": False,
        "generator": "someone",
    }
    path, out = tmp_path / "labels.jsonl", str(tmp_path / "out")
    path.write_text(json.dumps(record))
    assert main(["import", str(path), "--format", "processbench", "--out", out]) == 0
    capsys.readouterr()
    assert main(["inspect", out]) == 0
    shown = capsys.readouterr().out
    assert "1 rows imported from" in shown
    assert "Labels by position" in shown


def test_a_model_that_cannot_be_used_is_one_line_on_standard_error(config, tmp_path, capsys):
    path = changed(config, policy={"engine": {"kind": "replay", "path": str(tmp_path / "no")}})
    assert main(["run", path, "--out", str(tmp_path / "out"), "--no-prefect"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_soft_labels_count_as_labels(config, tmp_path, capsys):
    path, out = changed(config, label={"rule": "soft"}), str(tmp_path / "out")
    assert main(["run", path, "--out", out, "--no-prefect"]) == 0
    assert " soft; none:" in capsys.readouterr().out
    assert main(["inspect", out, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    data = found["metrics"]["data"]
    unlabelled = sum(row["unlabelled"] for row in found["by_position"])
    assert unlabelled == sum(data["unlabelled"].values())
    assert unlabelled + sum(data["sources"].values()) == data["steps"]

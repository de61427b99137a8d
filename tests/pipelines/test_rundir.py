import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from stepmill.errors import UserError
from stepmill.pipelines.rundir import (
    TABLES,
    RunDir,
    differing_keys,
    disk_full,
    read_run_yaml,
)


def resolved(created="2026-01-01", **gather):
    return {"name": "test", "gather": gather, "created": created}


def test_a_run_directory_holds_a_folder_per_kind_of_file(rundir):
    rundir.create()  # once more
    folders = {p.name for p in rundir.root.iterdir()}
    assert folders == {"journal", "manifest", *TABLES}
    for path in (rundir.journal(7), rundir.manifest(7), rundir.part("rollouts", 7)):
        assert path.parent.is_dir()
        assert "00007" in path.name


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(UserError, match=r"run: a file is in the way; choose another --out"):
        RunDir(tmp_path / "run").create()


def test_a_directory_that_cannot_be_made_is_the_users_to_mend():
    with pytest.raises(UserError, match=r"/proc/run cannot be written \(.*\); choose another"):
        RunDir("/proc/run").create()


def test_a_text_is_replaced_whole_or_not_at_all(rundir, monkeypatch):
    path = rundir.root / "metrics.json"
    rundir.write_text(path, "old")

    def full(fd):
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            rundir.write_text(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in rundir.root.iterdir() if p.is_file()] == ["metrics.json"]
    rundir.write_text(path, "new")
    assert path.read_text() == "new"


def test_json_and_yaml_keep_every_character(rundir):
    texts = {"text": "π\n\0 \ud83d \U0001f600", "half": "\ude00"}
    rundir.write_json(rundir.root / "a.json", texts)
    assert json.loads((rundir.root / "a.json").read_text(encoding="utf-8")) == texts
    assert "π" in (rundir.root / "a.json").read_text(encoding="utf-8")
    rundir.claim("f1", resolved(question=texts))
    assert read_run_yaml(rundir.root)["gather"]["question"] == texts


HOLDER = """
import sys
from stepmill.pipelines.rundir import RunDir

with RunDir(sys.argv[1]).exclusive():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_kept_out_until_the_first_dies(rundir):
    command = [sys.executable, "-c", HOLDER, str(rundir.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(UserError, match=rf"another run \(process {holder.pid}\) is writing"),
            rundir.exclusive(),
        ):
            pass
        holder.kill()
    with rundir.exclusive():
        assert (rundir.root / ".lock").read_text() == str(os.getpid())
    with rundir.exclusive():
        pass


def test_a_second_writer_in_the_same_process_is_kept_out_too(rundir):
    with rundir.exclusive(), pytest.raises(UserError, match="is writing"), rundir.exclusive():
        pass


def test_a_claimed_directory_remembers_when_it_was_made_and_takes_new_views(rundir):
    rundir.claim("f1", resolved(k=8))
    rundir.claim("f1", {**resolved("2027-02-02", k=8), "name": "renamed"})
    assert read_run_yaml(rundir.root) == {
        "fingerprint": "f1",
        "name": "renamed",
        "gather": {"k": 8},
        "created": "2026-01-01",
    }


@pytest.mark.parametrize(
    ("gather", "said"),
    [
        ({"search": {"k": 16, "method": "scan"}, "seed": 1}, "differs in search.k, seed"),
        ({"search": {"k": 8, "method": "scan"}, "seed": 0}, "differs in its version"),
    ],
)
def test_another_configuration_is_refused_with_the_keys_that_differ(rundir, gather, said):
    rundir.claim("f1", resolved(search={"k": 8, "method": "scan"}, seed=0))
    before = rundir.config_file.read_text()
    with pytest.raises(UserError, match=rf"{said}\); choose another --out, and add --reuse"):
        rundir.claim("f2", resolved(**gather))
    assert rundir.config_file.read_text() == before


def test_what_is_not_a_run_directory_is_named(tmp_path):
    with pytest.raises(UserError, match=r"is not a run directory \(no run.yaml in it\)"):
        read_run_yaml(tmp_path)


FACTS = {"policies": {"policy": {"fingerprint": "a", "stop": ("###",)}}, "checker": "math 1"}


def test_a_run_is_tied_to_its_policy(rundir):
    assert rundir.read_policy() is None
    rundir.claim_policy(FACTS)
    rundir.claim_policy(FACTS)
    assert rundir.read_policy() == json.loads(json.dumps(FACTS))
    changed = {**FACTS, "policies": {"policy": {"fingerprint": "b", "stop": ["###"]}}}
    with pytest.raises(UserError, match=r"\(policies.policy.fingerprint changed\)"):
        rundir.claim_policy(changed)


def test_a_shard_without_a_manifest_is_not_finished(rundir):
    assert rundir.read_manifest(3) is None
    rundir.write_json(rundir.manifest(3), {"shard": 3})
    assert rundir.read_manifest(3) == {"shard": 3}


@pytest.mark.parametrize(
    ("a", "b", "keys"),
    [
        ({"x": 1, "y": {"z": 2}}, {"y": {"z": 2}, "x": 1}, []),
        ({"x": 1, "y": {"z": 2, "w": 0}}, {"x": 2, "y": {"z": 3, "w": 0}}, ["x", "y.z"]),
        ({"x": 1}, {}, ["x"]),
        ({"x": {"y": 1}}, {"x": None}, ["x"]),
        ({"x": [1, 2]}, {"x": [2, 1]}, ["x"]),
        (1, 2, ["everything"]),
    ],
)
def test_differing_keys_are_dotted_paths(a, b, keys):
    assert differing_keys(a, b) == differing_keys(b, a) == keys


def test_only_a_full_disk_is_the_users_to_mend():
    for code in (errno.ENOSPC, errno.EDQUOT):
        message = str(disk_full(OSError(code, os.strerror(code)), Path("/runs/a")))
        assert message.startswith("the disk under /runs/a is full")
    assert disk_full(OSError(errno.EIO, "broken"), Path("/runs/a")) is None


def test_run_yaml_is_read_by_any_yaml_parser(rundir):
    rundir.claim("f1", resolved(stop=["\n\n", "###"], top_p=1e-05, none=None))
    content = yaml.safe_load(rundir.config_file.read_text(encoding="utf-8"))
    assert content["gather"] == {"stop": ["\n\n", "###"], "top_p": 1e-05, "none": None}


@pytest.mark.parametrize("text", ["", "[", "a: [", "7", "\x00"])
def test_a_damaged_file_of_a_run_is_named(tmp_path, text):
    (tmp_path / "run.yaml").write_text(text)
    (tmp_path / "policy.json").write_text(text)
    with pytest.raises(UserError, match=r"run\.yaml is damaged"):
        read_run_yaml(tmp_path)
    with pytest.raises(UserError, match=r"policy\.json is damaged"):
        RunDir(tmp_path).read_policy()

"""Packages and programs tried from outside: those that work, raise, crash and hang."""

import sys

import pytest

from stepmill.pipelines.probes import Finding, Probe, run_command, run_probe


def probe(code: str, timeout: float = 60) -> Finding:
    """What is found of a module that is surely there, tried with `code`."""
    return run_probe(Probe("it", "json", code, "install it", timeout))


def test_a_working_package_tells_its_detail_in_the_last_line():
    found = probe("print('chatter of a library'); print('1.2.3')")
    assert (found.status, found.detail, found.how) == ("ok", "1.2.3", "")


def test_a_package_that_is_not_installed_is_missing():
    found = run_probe(Probe("it", "no_such_module", "", "install it"))
    assert (found.status, found.how) == ("missing", "install it")


def test_a_package_that_raises_is_broken_with_the_error():
    found = probe("raise RuntimeError('operator nms does not exist')")
    assert found.status == "broken"
    assert "operator nms does not exist" in found.detail
    assert "install it" in found.how


def test_a_package_that_crashes_python_is_broken_with_the_signal():
    found = probe("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert (found.status, found.detail) == ("broken", "ended by signal 9, Killed")


def test_a_package_that_never_answers_is_broken():
    found = probe("import time; time.sleep(600)", timeout=0.5)
    assert found.status == "broken"
    assert "no answer" in found.detail


def test_modules_of_the_working_folder_are_not_taken_for_packages(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise ImportError('a file of the user')")
    monkeypatch.chdir(tmp_path)
    assert probe("import json; print('the real one')").detail == "the real one"


def test_every_line_of_a_program_is_kept():
    command = [sys.executable, "-c", "print('GPU 0'); print('GPU 1')"]
    assert run_command("GPU", command, "") == Finding("GPU", "ok", "GPU 0; GPU 1")


@pytest.mark.parametrize("command", [["/no/such/program"], [sys.executable, "-c", "exit(3)"]])
def test_a_program_that_cannot_be_used_is_broken(command):
    found = run_command("it", command, "mend it")
    assert (found.status, found.how) == ("broken", "mend it")
    assert found.detail

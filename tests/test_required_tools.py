"""Skips that fail where a tool must be there (conftest.py of the repository)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOOKS = Path(__file__).resolve().parents[1] / "conftest.py"

BY_MARKER = """
import pytest

@pytest.mark.requires("no_such_tool")
def test_with_the_tool():
    pass
"""
BY_MODULE = """
import pytest

pytest.importorskip("no_such_tool")

def test_with_the_tool():
    pass
"""
FOR_ANOTHER_REASON = """
import pytest

def test_elsewhere():
    pytest.skip("runs on Sundays only")
"""
EXPECTED_TO_FAIL = """
import pytest

@pytest.mark.xfail(reason="no_such_tool has a bug")
def test_known_bug():
    raise ValueError
"""


def outcome(folder: Path, test: str, required: str) -> tuple[int, str]:
    """Exit code and output of pytest on one file under the project's hooks."""
    (folder / "conftest.py").write_text(HOOKS.read_text())
    (folder / "test_it.py").write_text(test)
    settings = {"STEPMILL_REQUIRE": required, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "--rootdir", folder, "-c", os.devnull, folder],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        check=False,
    )
    return run.returncode, run.stdout


@pytest.mark.parametrize("test", [BY_MARKER, BY_MODULE], ids=["marker", "module"])
def test_a_missing_tool_is_a_skip_on_most_machines(tmp_path, test):
    code, output = outcome(tmp_path, test, required="")
    assert "1 skipped" in output
    assert code in {0, 5}  # 5: pytest's word for "no test ran"


@pytest.mark.parametrize("test", [BY_MARKER, BY_MODULE], ids=["marker", "module"])
def test_a_missing_tool_is_a_failure_where_it_is_required(tmp_path, test):
    code, output = outcome(tmp_path, test, required="bwrap, no_such_tool")
    assert code not in {0, 5}
    assert "no_such_tool is required here" in output


@pytest.mark.parametrize("test", [FOR_ANOTHER_REASON, EXPECTED_TO_FAIL], ids=["skip", "xfail"])
def test_other_skips_stay_skips(tmp_path, test):
    code, output = outcome(tmp_path, test, required="no_such_tool")
    assert code == 0, output

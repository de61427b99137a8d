"""Tests that need a tool, and machines on which the tool must be there.

A test whose tool is not installed is skipped. Where STEPMILL_REQUIRE names the tool (`vllm,bwrap`),
a skip whose reason speaks of it is a failure: CI must not pass because nothing was tried.
"""

import os
import re
import shutil
from collections.abc import Generator
from importlib.util import find_spec
from typing import TypeVar

import pytest

R = TypeVar("R", pytest.TestReport, pytest.CollectReport)

REQUIRED = re.findall(r"[\w-]+", os.environ.get("STEPMILL_REQUIRE", ""))


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "requires(tool, ...): skip unless each tool is a module or a program here"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here."""
    for marker in item.iter_markers("requires"):
        for tool in marker.args:
            if not find_spec(tool) and not shutil.which(tool):
                pytest.skip(f"{tool} is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Judge the skip of a test."""
    return _judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Judge the skip of a whole module."""
    return _judged((yield))


def _judged(report: R) -> R:
    expected = hasattr(report, "wasxfail")  # pytest counts these as skipped, too
    if report.outcome == "skipped" and not expected and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        for tool in REQUIRED:
            if re.search(rf"\b{re.escape(tool)}\b", reason):
                report.outcome = "failed"
                report.longrepr = f"{tool} is required here (STEPMILL_REQUIRE). {reason}"
    return report

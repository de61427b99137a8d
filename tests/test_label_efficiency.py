"""The benchmark of label efficiency runs and says what it promises; how good, is in docs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "label_efficiency.py"
METHODS = {"every-step", "binary", "binary-relative", "scan", "omegaprm", "change-point"}
FIELDS = {
    "source", "skill", "self_correction", "steps", "method", "exact", "rollouts", "tokens", "ece",
    "abstained",
}  # fmt: skip


@pytest.mark.slow
def test_a_quick_run_gives_a_row_for_each_setting_and_method():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--n", "25", "--json"],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert {row["method"] for row in rows} == METHODS
    assert {row["source"] for row in rows} == {"simulated", "replay"}
    assert all(row.keys() >= FIELDS for row in rows)
    mean = {
        method: sum(row["rollouts"] for row in rows if row["method"] == method)
        for method in METHODS
    }
    assert mean["change-point"] < 0.8 * mean["binary"] < mean["every-step"]

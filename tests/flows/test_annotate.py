"""The flow on a real Prefect server: shards, retries, artifacts; the rest is tested without one."""

from typing import Any

import pytest

prefect = pytest.importorskip("prefect")

from prefect.artifacts import Artifact  # noqa: E402
from prefect.testing.utilities import prefect_test_harness  # noqa: E402

from stepmill.errors import EngineError, UserError  # noqa: E402
from stepmill.flows import annotate as flow_module  # noqa: E402
from stepmill.pipelines.config import check_config  # noqa: E402
from stepmill.pipelines.workshop import annotate_shard, close_workshop  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def server():
    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.fixture
def config():
    return check_config(
        {
            "name": "flow",
            "problems": {"kind": "generated", "n": 9, "seed": 2, "max_steps": 5},
            "policy": {"engine": {"kind": "simulated"}, "sampling": {"max_tokens": 400}},
            "segmenter": {"kind": "line"},
            "solutions": {"n": 4},
            "search": {"method": "binary", "k": 4},
            "run": {"shard_size": 2},
        },
        "test",
    )


@pytest.fixture
def out(tmp_path):
    yield tmp_path / "run"
    close_workshop(tmp_path / "run")


def artifact_data(key) -> Any:
    """What an artifact of the flow shows."""
    found: Any = Artifact.get(key)
    return found.data


def test_a_run_is_a_flow_with_one_task_per_shard_and_artifacts(config, out):
    metrics = flow_module.annotate(config, str(out))
    assert metrics["shards"] == 5
    assert (out / "data").is_dir()
    assert artifact_data("progress") == 100
    assert "solutions" in artifact_data("summary")


def test_a_retryable_error_is_retried_and_a_users_mistake_is_not(config, out, monkeypatch):
    calls = []

    def flaky(root, index):
        calls.append(index)
        if calls.count(index) == 1:
            raise EngineError("the server went away", retryable=True)
        return annotate_shard(root, index)

    monkeypatch.setattr(flow_module, "annotate_shard", flaky)
    monkeypatch.setattr(flow_module.annotate_shard_task, "retry_delay_seconds", 0)
    assert flow_module.annotate(config, str(out))["shards"] == 5
    assert sorted(calls) == sorted(list(range(5)) * 2)

    tried = []

    def wrong(root, index):
        tried.append(index)
        raise UserError("no such model")

    monkeypatch.setattr(flow_module, "annotate_shard", wrong)
    other = out.with_name("other")
    with pytest.raises(UserError, match="no such model"):
        flow_module.annotate(config, str(other))
    assert len(tried) == len(set(tried))

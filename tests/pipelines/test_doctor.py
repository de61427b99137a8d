"""What `stepmill doctor` finds, on machines that lack or break one thing at a time."""

import http.server
import threading

import pytest

from stepmill.pipelines import doctor
from stepmill.pipelines.probes import Finding


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Makes the only programs that PATH has: `programs(bwrap="exit 1")`."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def make(**scripts: str) -> None:
        for name, script in scripts.items():
            path = tmp_path / name
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)

    return make


@pytest.fixture
def prefect_server(monkeypatch):
    """Serves an API on loopback that answers with a given status; returns how to start it."""
    servers = []

    def start(status: int) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.end_headers()

            def log_message(self, format, *args):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        use_prefect_url(monkeypatch, f"http://me:secret@127.0.0.1:{server.server_port}/api")

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def use_prefect_url(monkeypatch, url: str) -> None:
    """Let Prefect's settings hold `url`, without the seconds that importing Prefect takes."""
    monkeypatch.setattr(doctor, "run_probe", lambda probe: Finding(probe.name, "ok", url))


@pytest.mark.slow
def test_every_part_is_examined_once_and_each_problem_has_a_remedy():
    findings = doctor.examine()
    names = [f.name for f in findings]
    assert len(set(names)) == len(names)
    assert {"Python", "torch", "vLLM", "Prefect", "shipped models", "bubblewrap"} <= set(names)
    for found in findings:
        assert found.detail, found.name
        assert found.how or found.status == "ok", found.name


def test_what_every_installation_has_is_ok():
    assert doctor.examine_python().status == "ok"
    assert doctor.examine_processor().status == "ok"
    assert doctor.examine_shipped_models().status == "ok"


def test_a_container_has_the_memory_of_its_own_limit(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    limit.write_text("3000000000\n")
    monkeypatch.setattr(doctor, "CGROUP_MEMORY", limit)
    assert "3 GB" in doctor.examine_processor().detail


def test_little_disk_space_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "LOW_DISK_GB", 1_000_000)
    monkeypatch.chdir(tmp_path)
    found = doctor.examine_disk()
    assert found.status == "broken"
    assert str(tmp_path) in found.detail


def test_an_installation_without_its_model_is_broken(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "MODELS", tmp_path)
    assert doctor.examine_shipped_models().status == "broken"


def test_all_gpus_are_named(programs):
    programs(**{"nvidia-smi": "echo 'H100, 81559 MiB'; echo 'H100, 81559 MiB'"})
    assert doctor.examine_gpu().detail == "H100, 81559 MiB; H100, 81559 MiB"


def test_a_machine_without_programs_misses_them(programs):
    findings = [
        doctor.examine_gpu(),
        doctor.examine_bubblewrap(),
        doctor.examine_program("Coq", ("coqc", "rocq"), "install it"),
    ]
    assert [f.status for f in findings] == ["missing"] * 3


def test_a_sandbox_that_cannot_be_made_is_broken(programs):
    programs(bwrap="echo 'No permissions to create a new namespace' >&2; exit 1")
    found = doctor.examine_bubblewrap()
    assert (found.status, found.detail) == ("broken", "No permissions to create a new namespace")


def test_the_second_name_of_a_program_counts(programs):
    programs(rocq="echo 'The Rocq Prover, version 9.0'")
    found = doctor.examine_program("Coq", ("coqc", "rocq"), "install it")
    assert (found.status, found.detail) == ("ok", "The Rocq Prover, version 9.0")


def test_user_namespaces_are_allowed_or_the_reason_is_told():
    found = doctor.examine_user_namespaces()
    assert found.status in {"ok", "broken"}
    assert found.detail


def test_without_a_server_prefect_starts_its_own(monkeypatch):
    use_prefect_url(monkeypatch, "")
    found = doctor.examine_prefect()
    assert found.status == "ok"
    assert "starts its own" in found.detail


@pytest.mark.parametrize("status", [200, 401, 404])
def test_a_prefect_server_that_answers_at_all_is_ok_and_its_password_stays_hidden(
    prefect_server, status
):
    prefect_server(status)
    found = doctor.examine_prefect()
    assert found.status == "ok"
    assert "secret" not in found.detail


@pytest.mark.parametrize("url", ["http://me:secret@127.0.0.1:9/api", "me:secret@nowhere"])
def test_a_prefect_server_that_does_not_answer_is_broken(monkeypatch, url):
    use_prefect_url(monkeypatch, url)
    found = doctor.examine_prefect()
    assert found.status == "broken"
    assert "PREFECT_API_URL" in found.how
    assert "secret" not in found.detail


def test_a_hub_token_is_seen_and_never_shown(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    found = doctor.examine_hub_token()
    assert found.status == "ok"
    assert "secret" not in found.detail


def test_no_hub_token_is_no_problem(monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    assert doctor.examine_hub_token().status == "missing"

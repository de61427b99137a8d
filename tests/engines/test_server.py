import subprocess
import sys

import pytest
from pydantic import ValidationError

from stepmill.engines.base import ENGINES
from stepmill.engines.server import ServerSettings
from stepmill.errors import UserError


def settings(**options) -> ServerSettings:
    return ServerSettings.model_validate({"urls": "http://127.0.0.1:8000", **options})


@pytest.mark.parametrize(
    "url", ["http://h:8000", "http://h:8000/", "http://h:8000/v1", "http://h:8000/v1/"]
)
def test_an_address_may_end_as_other_clients_write_it(url):
    assert settings(urls=url).urls == ("http://h:8000",)


def test_many_addresses_keep_their_order():
    assert settings(urls=["http://b:1", "https://a/gateway/v1"]).urls == (
        "http://b:1",
        "https://a/gateway",
    )


@pytest.mark.parametrize(
    ("urls", "message"),
    [
        ("localhost:8000", "write it like http"),
        ("ftp://h", "write it like http"),
        ("http://h:port", "write it like http"),
        ("http://user:secret@h", "environment variable"),
        ("http://h/?key=secret", "environment variable"),
        (["http://h", "http://h/v1"], "twice"),
        ([], "names no server"),
    ],
)
def test_what_is_not_a_bare_address_is_refused(urls, message):
    with pytest.raises(ValidationError, match=message):
        settings(urls=urls)


def test_a_key_in_place_of_its_variables_name_is_refused():
    with pytest.raises(ValidationError, match="api_key_env"):
        settings(api_key_env="sk-12345")


def test_a_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("STEPMILL_TEST_KEY", raising=False)
    with pytest.raises(UserError, match=r"STEPMILL_TEST_KEY.* not set"):
        ENGINES["server"].open(settings(api_key_env="STEPMILL_TEST_KEY"))


def test_the_configuration_is_read_without_loading_an_http_client():
    code = "import stepmill.engines.server, sys; print('aiohttp' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"

"""Kind `server`: the policy runs behind one or many vLLM servers, or others of OpenAI's protocol.

Only what a configuration says; what it opens is in server_engine.py, imported when an engine is
opened, so that reading a configuration does not load an HTTP client.
"""

import os
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from stepmill.engines.base import ENGINES, EngineKind
from stepmill.engines.prompts import ChatPrompt, PromptSettings
from stepmill.errors import UserError
from stepmill.settings import Settings

if TYPE_CHECKING:
    from stepmill.engines.server_engine import ServerEngine


_NO_ADDRESS = "is not a server's address; write it like http://127.0.0.1:8000"


def _one_or_many(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _address(url: str) -> str:
    """The URL up to where `/v1/completions` is added."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        raise ValueError(_NO_ADDRESS) from None
    if not sound:
        raise ValueError(_NO_ADDRESS)
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError(
            "holds more than an address; put a key into an environment variable and its name"
            " into `api_key_env`"
        )
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def _distinct(urls: tuple[str, ...]) -> tuple[str, ...]:
    if not urls:
        raise ValueError("names no server")
    if len(set(urls)) < len(urls):
        raise ValueError("names a server twice")
    return urls


class ServerSettings(Settings):
    """Servers that run one model."""

    urls: Annotated[
        tuple[Annotated[str, AfterValidator(_address)], ...],
        BeforeValidator(_one_or_many, json_schema_input_type=str | tuple[str, ...]),
        AfterValidator(_distinct),
    ]
    """Address of the server, or a list of them, such as http://127.0.0.1:8000. All must serve the
    same model; requests that share a question go to the same one."""
    model: str | None = None
    """Name that the servers give the model. Left out: the one model they serve."""
    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Name of the environment variable that holds the servers' key; never the key itself."""
    prompt: PromptSettings = ChatPrompt()
    """How a question becomes a prompt. `chat` needs vLLM servers; `jinja` needs the model in this
    process and is not for servers."""
    max_in_flight: int = Field(default=1024, ge=1)
    """Draws that one server works on at a time, at most. Keep it above its `--max-num-seqs`."""
    timeout: float = Field(default=600.0, gt=0)
    """Seconds that one request may take, its time in the server's queue included."""
    retries: int = Field(default=8, ge=0)
    """How often a request is sent again after an overload (429), a server's error (5xx), a time-out
    or a broken connection."""
    backoff: float = Field(default=0.5, gt=0)
    """Seconds before the first of these; they double each time up to 30, and are varied by half."""
    patience: float = Field(default=300.0, ge=0)
    """Seconds without any living server after which the run ends."""
    seeds: bool = True
    """Send a seed with each request. Draws differ with and without; turn it off for servers that
    refuse seeds."""


def _key(settings: ServerSettings) -> str | None:
    if settings.api_key_env is None:
        return None
    key = os.environ.get(settings.api_key_env, "").strip()
    if not key:
        raise UserError(
            f"`api_key_env` names the environment variable {settings.api_key_env}, which is not"
            " set; export it with the servers' key"
        )
    return key


def _open(settings: ServerSettings) -> "ServerEngine":
    from stepmill.engines.server_engine import ServerEngine

    return ServerEngine(settings, _key(settings))


ENGINES.register("server")(
    EngineKind(
        ServerSettings,
        _open,
        operational=frozenset(
            {
                "urls",
                "api_key_env",
                "max_in_flight",
                "timeout",
                "retries",
                "backoff",
                "patience",
            }
        ),
    )
)

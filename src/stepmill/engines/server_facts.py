"""What an engine wants to know of a server before it trusts it with requests.

Asked at the start, and again of a server that was dead: another model may have come up in its
place.
"""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from stepmill.engines.prompts import ChatPrompt, PromptSettings
from stepmill.engines.server_client import RequestRefused, ServerClient, TryAgain
from stepmill.engines.server_tokens import ServerTokens
from stepmill.errors import UserError
from stepmill.registry import closest

PATIENCE = 15.0
"""Seconds that a server may take for all of these questions."""
_QUESTION = "What is 6 x 7?"
"""Rendered and tokenised by every server; all must come to the same."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What servers of one model have in common."""

    model: str
    """Name that the server gives the model."""
    root: str
    """Name or folder that the server loaded it from; empty when it does not say."""
    context: int | None
    """Tokens that prompt and completion may have; None for a server that is not vLLM."""
    joins: bool = True
    """See `ServerTokens.joins_texts`."""
    prompt: tuple[int, ...] = ()
    """Ids of one rendered question: they show the tokenizer and the chat template."""

    @property
    def is_vllm(self) -> bool:
        """Whether the server tokenises prompts and takes token ids."""
        return self.context is not None


async def look_at(
    client: ServerClient, url: str, model: str | None, prompt: PromptSettings
) -> ServerFacts:
    """Ask the server at `url` what it is.

    Raises:
        TryAgain: it is not well.
        UserError: it cannot serve this policy.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            return await _look_at(client, url, model, prompt)
    except TimeoutError:
        raise TryAgain(f"{url} did not answer within {PATIENCE:g} s") from None


async def _look_at(
    client: ServerClient, url: str, model: str | None, prompt: PromptSettings
) -> ServerFacts:
    with suppress(RequestRefused):  # servers without this path
        await client.get(f"{url}/health")  # vLLM says 503 when its engine has died
    name, root = await _model(client, url, model)
    tokens = ServerTokens(client, name, prompt)
    try:
        context = await tokens.context(url)
        joins = context is None or await tokens.joins_texts(url)
    except RequestRefused:
        context, joins = None, True
    if context is None:
        if isinstance(prompt, ChatPrompt):
            raise UserError(
                f"{url} is not a vLLM server (it has no /tokenize), so the model's chat template"
                " cannot be had from it; set `prompt: {template: plain}` or `few-shot`"
            )
        return ServerFacts(name, root, None)
    try:
        ids = await tokens.prompt_ids(url, _QUESTION)
    except RequestRefused as error:
        raise UserError(
            f"the model's chat template cannot render the prompt: {error}. Use"
            " `prompt: {template: plain}` for a model without one, and put the system text into"
            " `user` for a model that takes none"
        ) from None
    if isinstance(prompt, ChatPrompt) and not (joins or await tokens.rereads(url, ids)):
        raise UserError(
            f"the tokenizer of {url} reads its own chat prompt differently, so no solution can be"
            " continued to the letter; set `prompt: {template: plain}` or `few-shot`"
        )
    return ServerFacts(name, root, context, joins, tuple(ids))


async def _model(client: ServerClient, url: str, wanted: str | None) -> tuple[str, str]:
    """Name of the model to ask for, and what it was loaded from."""
    try:
        answer = await client.get(f"{url}/v1/models")
        served = {str(m["id"]): str(m.get("root") or "") for m in json.loads(answer)["data"]}
    except RequestRefused as error:
        if error.status in (401, 403):
            raise refused_key(error) from None
        if wanted is None:
            raise UserError(f"{error}; it does not list its models, so give `model`") from None
        return wanted, ""
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"{url}/v1/models does not answer as OpenAI's protocol says; correct `urls`"
        ) from None
    names = ", ".join(served)
    if wanted is None:
        if len(served) != 1:
            raise UserError(f"{url} serves several models ({names}); say which with `model`")
        wanted = next(iter(served))
    if wanted not in served:
        raise UserError(
            f"{url} serves {names}, not {wanted!r}; correct `model` or `urls`."
            f"{closest(wanted, list(served))}"
        )
    # Machines keep the same model under different folders; the last name is the model's.
    root = served[wanted]
    return wanted, PurePosixPath(root).name if root.startswith("/") else root


def refused_key(error: RequestRefused) -> UserError:
    """The message for a server that wants a key, or another one."""
    return UserError(
        f"the server refuses the key: {error}; export it in an environment variable and name that"
        " in `api_key_env`"
    )


def differences(facts: dict[str, ServerFacts]) -> str:
    """Why the servers are not of one kind, or an empty string.

    Args:
        facts: by address; not empty.
    """
    first_url, first = next(iter(facts.items()))
    for url, other in facts.items():
        for name, what in _COMPARED.items():
            ours: Any = getattr(first, name)
            if ours != getattr(other, name):
                return f"{first_url} and {url} {what}"
    return ""


_COMPARED = {
    "model": "serve models of different names",
    "root": "serve models loaded from different places",
    "is_vllm": "are not both vLLM servers",
    "context": "have contexts of different lengths (`--max-model-len`)",
    "prompt": "render or tokenise the same prompt differently",
}

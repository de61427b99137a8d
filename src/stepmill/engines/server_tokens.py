"""From a prefix to token ids with the tokenizer of a server (`/tokenize`, `/detokenize`).

The same promise as in tokens.py, kept over HTTP and with few calls: one for a question and one for
a prefix, however many draws follow. The server renders its own chat template, so this process needs
neither model nor tokenizer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import partial
from typing import Any

from stepmill.engines.base import Prefix
from stepmill.engines.prompts import ChatPrompt, Prompt, PromptSettings, chat_turns
from stepmill.engines.server_client import ServerClient
from stepmill.errors import UserError

_KEPT = 4096
"""Prompts and prefixes whose ids are kept: more than a run has in work at one time."""
_ANCHOR = 8
"""Prompt tokens decoded before those of a solution; see tokens.py."""
_SEAM = ("Question: 2 + 3\nAnswer:\n", "Step 1: 2 + 3 = 5\n")
"""A prompt and a beginning of a solution, to try how a tokenizer joins texts."""


class ServerTokens:
    """Turns prefixes into token ids, for one model and one form of prompt.

    Args:
        client: the session to use.
        model: name that the servers give the model.
        settings: form of the prompt.
        joins: what `joins_texts` said; False for tokenizers that put a space before every text.

    Raises:
        UserError: a `jinja` prompt, which wants the tokenizer in this process.
    """

    def __init__(
        self, client: ServerClient, model: str, settings: PromptSettings, *, joins: bool = True
    ) -> None:
        self._client = client
        self._model = model
        self._prompt_body: Callable[[str], dict[str, Any]]
        if isinstance(settings, ChatPrompt):
            self._prompt_body = partial(_chat_body, settings)
        else:
            self._prompt_body = partial(_plain_body, Prompt(settings))
        self._prompts = _Recent()
        self._prefixes = _Recent()
        self._joins = joins

    async def joins_texts(self, url: str) -> bool:
        """Whether ids of a prompt and of a text tokenised alone decode to both texts joined.

        Raises:
            UserError: the tokenizer changes texts even in one piece.
        """
        before, after = [await self._encode(url, text, special=False) for text in _SEAM]
        whole = "".join(_SEAM)
        if await self._decode(url, before + after) == whole:
            return True
        alone = await self._decode(url, await self._encode(url, whole, special=False))
        if alone.lstrip(" ") != whole:
            raise UserError(
                f"the tokenizer of {url} does not give a text back as it was, so no solution can be"
                " continued to the letter; use another model"
            )
        return False

    async def rereads(self, url: str, ids: list[int]) -> bool:
        """Whether a prompt's ids are found again from their text."""
        return await self._encode(url, await self._decode(url, ids), special=False) == ids

    async def context(self, url: str) -> int | None:
        """Tokens of the model's context; None when the server's `/tokenize` is not vLLM's."""
        answer = await self._post(url, "tokenize", {"prompt": _SEAM[0]})
        if isinstance(answer, dict) and isinstance(answer.get("max_model_len"), int):
            return int(answer["max_model_len"])
        return None

    async def ids(self, url: str, prefix: Prefix) -> list[int]:
        """Ids of prompt and prefix, from the server at `url`; raises as the client does."""
        prompt = await self.prompt_ids(url, prefix.question)
        if not prefix.text:
            return prompt
        return await self._prefixes.get(
            (prefix.question, prefix.text), lambda: self._prefix_ids(url, prompt, prefix)
        )

    async def prompt_ids(self, url: str, question: str) -> list[int]:
        """Ids of the bare prompt."""
        return await self._prompts.get(question, lambda: self._prompt_ids(url, question))

    async def _prompt_ids(self, url: str, question: str) -> list[int]:
        body = self._prompt_body(question)
        return list((await self._post(url, "tokenize", body))["tokens"])

    async def _prefix_ids(self, url: str, prompt: list[int], prefix: Prefix) -> list[int]:
        encoded = await self._encode(url, prefix.text, special=False)
        if prefix.token_ids is not None:
            if self._joins and list(prefix.token_ids[: len(encoded)]) == encoded:
                return prompt + encoded  # the usual case
            sampled = await self._leading(url, prompt[-_ANCHOR:], prefix.token_ids, prefix.text)
            if sampled is not None:
                return prompt + sampled
        if self._joins:
            return prompt + encoded
        # In one piece there is no seam to put a space at.
        plain = self._prompt_body(prefix.question).get("prompt")
        before = await self._decode(url, prompt) if plain is None else plain
        return await self._encode(url, before + prefix.text, special=plain is not None)

    async def _leading(
        self, url: str, anchor: list[int], token_ids: Sequence[int], text: str
    ) -> list[int] | None:
        """The fewest of the first `token_ids` that decode to exactly `text`, if there are any."""
        head = await self._decode(url, anchor)

        async def decoded(n: int) -> str:
            return (await self._decode(url, [*anchor, *token_ids[:n]])).removeprefix(head)

        low, high = 0, len(token_ids)
        while low < high:  # the decoded text never gets shorter as tokens are added
            middle = (low + high) // 2
            if len(await decoded(middle)) < len(text):
                low = middle + 1
            else:
                high = middle
        return list(token_ids[:low]) if await decoded(low) == text else None

    async def _encode(self, url: str, text: str, *, special: bool) -> list[int]:
        body = {"prompt": text, "add_special_tokens": special}
        return list((await self._post(url, "tokenize", body))["tokens"])

    async def _decode(self, url: str, token_ids: list[int]) -> str:
        return str((await self._post(url, "detokenize", {"tokens": token_ids}))["prompt"])

    async def _post(self, url: str, path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        return await self._client.post(f"{url}/{path}", {"model": self._model, **body})


def _chat_body(settings: ChatPrompt, question: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": chat_turns(settings, question),
        "add_generation_prompt": True,
    }
    if settings.options:
        body["chat_template_kwargs"] = settings.options
    return body


def _plain_body(prompt: Prompt, question: str) -> dict[str, Any]:
    return {"prompt": prompt.render(question), "add_special_tokens": prompt.adds_special_tokens}


class _Recent:
    """The ids used last, by key; two who want the same at once wait for one answer."""

    def __init__(self) -> None:
        self._found: dict[Hashable, list[int]] = {}
        self._asked: dict[Hashable, asyncio.Lock] = {}

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[list[int]]]) -> list[int]:
        """Ids under `key`; when there are none, what `ask` finds. Its failure is not kept."""
        found = self._found.pop(key, None)
        if found is None:
            try:
                async with self._asked.setdefault(key, asyncio.Lock()):
                    found = self._found.pop(key, None) or await ask()
            finally:
                self._asked.pop(key, None)
        self._found[key] = found  # the last to be dropped
        if len(self._found) > _KEPT:
            del self._found[next(iter(self._found))]
        return found

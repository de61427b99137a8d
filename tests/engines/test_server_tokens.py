import asyncio
from typing import Any

import pytest

from stepmill.engines.base import Prefix
from stepmill.engines.prompts import ChatPrompt, JinjaPrompt, PlainPrompt
from stepmill.engines.server_client import RequestRefused, ServerClient
from stepmill.engines.server_facts import ServerFacts, look_at
from stepmill.engines.server_tokens import ServerTokens
from stepmill.engines.stub_server import BOS, StubServer, chat_text
from stepmill.errors import UserError

BREAK = 0x2424
"""Id of the merged token for two line breaks."""
QUESTION = "What is 2 + 3?"
CHAT = chat_text([{"role": "user", "content": QUESTION}])


class MergingStub(StubServer):
    """Its tokenizer has one token for two line breaks; all others are single characters."""

    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text.replace("\n\n", chr(BREAK))]

    def decode(self, ids: list[int]) -> str:
        return super().decode(ids).replace(chr(BREAK), "\n\n")


class SpacingStub(StubServer):
    """Its tokenizer puts a space before every text and drops it when it decodes (SentencePiece)."""

    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in f" {text}"]

    def decode(self, ids: list[int]) -> str:
        return super().decode(ids).removeprefix(" ")


class ForgetfulStub(StubServer):
    """Its tokenizer makes one space of a line break."""

    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text.replace("\n", " ")]


class BlindStub(SpacingStub):
    """Its tokenizer does not know the marks of its own chat template in a text."""

    def encode(self, text: str) -> list[int]:
        return super().encode(text if text.startswith("<user>") else text.replace("<", "?"))

    def decode(self, ids: list[int]) -> str:
        return super().decode(ids).replace("<user>", "[user]")


async def sent(stub: StubServer, *prefixes: Prefix, prompt: Any = None) -> list[list[int]]:
    """Ids of the prefixes' texts or, from a tokenizer with seams, of everything."""
    async with stub:
        client = ServerClient(None, 10, 10)
        tokens = ServerTokens(client, "stub", prompt or ChatPrompt())
        joins = await tokens.joins_texts(stub.url)
        assert joins is not isinstance(stub, SpacingStub)
        tokens = ServerTokens(client, "stub", prompt or ChatPrompt(), joins=joins)
        try:
            found = await asyncio.gather(*(tokens.ids(stub.url, p) for p in prefixes))
        finally:
            await client.close()
    return [ids[len(CHAT) :] if joins else ids for ids in found]


@pytest.mark.parametrize(
    ("sampled", "text", "expected"),
    [
        # cut as the tokenizer would cut it
        (("a", ".", BREAK, "b"), "a.\n\n", ("a", ".", BREAK)),
        # sampled as two line breaks: sent as they were sampled
        (("a", ".", "\n", "\n", "b"), "a.\n\n", ("a", ".", "\n", "\n")),
        (("a", ".", "\n", "\n", "b"), "a.\n", ("a", ".", "\n")),
        # the cut lies inside a token: the text is tokenised anew
        (("a", ".", BREAK, "b"), "a.\n", ("a", ".", "\n")),
        # ids of another text are no help
        (("x", "y", "z"), "a.\n\n", ("a", ".", BREAK)),
        ((), "a.\n\n", ("a", ".", BREAK)),
        (None, "a.\n\n", ("a", ".", BREAK)),
    ],
)
def test_a_prefix_is_sent_as_it_was_sampled_where_that_is_known(sampled, text, expected):
    def ids(tokens):
        return [t if isinstance(t, int) else ord(t) for t in tokens]

    hint = None if sampled is None else tuple(ids(sampled))
    found = asyncio.run(sent(MergingStub(), Prefix(QUESTION, text, hint)))
    assert found == [ids(expected)]


def test_a_tokenizer_that_puts_spaces_before_texts_gets_prompt_and_prefix_in_one_piece():
    stub = SpacingStub()
    (found,) = asyncio.run(sent(stub, Prefix(QUESTION, "Step 1\n")))
    assert stub.decode(found) == f"{CHAT}Step 1\n"


def test_the_same_holds_for_a_plain_prompt_and_its_special_token():
    stub = SpacingStub()
    prompt = PlainPrompt(text="{question}\n")
    (found,) = asyncio.run(sent(stub, Prefix(QUESTION, "Step 1\n"), prompt=prompt))
    assert found == [BOS, *stub.encode(f"{QUESTION}\nStep 1\n")]


def test_a_question_and_a_prefix_are_tokenised_once():
    stub = StubServer()
    prefixes = [Prefix(QUESTION, "a"), Prefix(QUESTION, "b"), Prefix(QUESTION, "a")] * 5
    asyncio.run(sent(stub, *prefixes))
    assert stub.calls["/tokenize"] == 2 + 3  # two to try the seam


def test_a_failure_is_not_kept():
    async def main():
        async with StubServer() as stub:
            client = ServerClient(None, 10, 10)
            tokens = ServerTokens(client, "stub", ChatPrompt())
            with pytest.raises(RequestRefused):
                await tokens.ids(f"{stub.url}/nowhere", Prefix(QUESTION))
            found = await tokens.ids(stub.url, Prefix(QUESTION))
            await client.close()
            return found

    assert len(asyncio.run(main())) == len(CHAT)


def test_options_of_the_chat_template_reach_the_server():
    seen = []

    class Noting(ServerClient):
        async def post(self, url, body):
            seen.append(body)
            return {"tokens": [5]}

    async def main():
        client = Noting(None, 10, 10)
        prompt = ChatPrompt(system="Be brief.", options={"enable_thinking": False})
        await ServerTokens(client, "m", prompt).ids("http://h", Prefix(QUESTION))
        await client.close()

    asyncio.run(main())
    assert seen == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": QUESTION},
            ],
            "add_generation_prompt": True,
            "chat_template_kwargs": {"enable_thinking": False},
        }
    ]


def test_a_jinja_prompt_wants_the_model_in_this_process():
    async def main():
        client = ServerClient(None, 10, 10)
        try:
            ServerTokens(client, "m", JinjaPrompt(text="{{ question }}"))
        finally:
            await client.close()

    with pytest.raises(UserError, match="needs the model's tokenizer"):
        asyncio.run(main())


def looked_at(stub: StubServer) -> ServerFacts:
    async def main() -> ServerFacts:
        async with stub:
            client = ServerClient(None, 10, 10)
            try:
                return await look_at(client, stub.url, None, ChatPrompt())
            finally:
                await client.close()

    return asyncio.run(main())


def test_a_tokenizer_that_loses_text_is_refused():
    with pytest.raises(UserError, match="does not give a text back"):
        looked_at(ForgetfulStub())


def test_a_tokenizer_that_cannot_read_its_chat_prompt_is_refused():
    assert looked_at(StubServer()).joins
    assert not looked_at(SpacingStub()).joins
    with pytest.raises(UserError, match="reads its own chat prompt differently"):
        looked_at(BlindStub())

r"""From a prefix to the token ids that a model shall continue.

The promise: the ids decode to the prompt followed by the prefix, to the letter. Where the prefix
was sampled and its tokens are known, those are sent, so that the model sees what it once wrote and
the prefix cache knows it; a text tokenised anew may be cut differently ("\n\n" merges with what
stands before it). Knows tokenizers, and nothing of vLLM.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from stepmill.engines.base import Prefix
from stepmill.engines.prompts import ChatTokenizer, Prompt, PromptSettings
from stepmill.errors import UserError

_PROBE = "Step 1: 2 + 3 = 5.\n\nThe answer"
_ANCHOR = 8
"""Prompt tokens decoded before those of a solution: some tokenizers drop the first space of a text,
and a character's bytes can be spread over several tokens."""


class Tokenizer(ChatTokenizer, Protocol):
    """What is wanted of a tokenizer; those of Hugging Face have it."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Ids of a text."""
        ...

    def decode(
        self,
        token_ids: list[int],
        *,
        skip_special_tokens: bool,
        clean_up_tokenization_spaces: bool,
    ) -> str:
        """Text of ids."""
        ...


class PrefixTokens:
    """Turns prefixes into token ids, for one model and one form of prompt.

    Args:
        settings: form of the prompt.
        tokenizer: the model's.

    Raises:
        UserError: the model has no chat template and the prompt asks for one, or its tokenizer
            loses white space, so that no text can be continued to the letter.
    """

    def __init__(self, settings: PromptSettings, tokenizer: Tokenizer) -> None:
        self._prompt = Prompt(settings, tokenizer)
        self._tokenizer = tokenizer
        self.prompt_ids = lru_cache(maxsize=4096)(self._prompt_ids)
        """Ids of the bare prompt of a question."""
        # Two things are settled before other threads use the tokenizer: a chat template that the
        # model lacks, and a truncation that its file may ask for and that encoding switches off.
        self.prompt_ids("")
        if self._decode(list(self._encode(_PROBE, special=False))).lstrip(" ") != _PROBE:
            raise UserError(
                "the model's tokenizer does not give a text back as it was; use another model, or "
                "look whether the model folder lacks its tokenizer files"
            )

    def ids(self, prefix: Prefix) -> tuple[int, ...]:
        """Ids of prompt and prefix."""
        prompt = self.prompt_ids(prefix.question)
        if not prefix.text:
            return prompt
        anchor = prompt[-_ANCHOR:]
        if prefix.token_ids is not None:
            sampled = self.leading(anchor, prefix.token_ids, prefix.text)
            if sampled is not None:
                return prompt + sampled
        encoded = self._encode(prefix.text, special=False)
        if self._text(anchor, encoded) == prefix.text:
            return prompt + encoded
        # A tokenizer that puts a space before every text. In one piece there is no such seam.
        whole = self._prompt.render(prefix.question) + prefix.text
        return self._encode(whole, special=self._prompt.adds_special_tokens)

    def leading(
        self, anchor: tuple[int, ...], token_ids: Sequence[int], text: str
    ) -> tuple[int, ...] | None:
        """The fewest of the first `token_ids` that decode to exactly `text`, if there are any.

        Args:
            anchor: ids that stand before them.
            token_ids: a sampled solution's, whole or in part; an end-of-text token may be last.
            text: where to cut.
        """
        low, high = 0, len(token_ids)
        while low < high:  # the decoded text never gets shorter as tokens are added
            middle = (low + high) // 2
            if len(self._text(anchor, token_ids[:middle])) < len(text):
                low = middle + 1
            else:
                high = middle
        cut = tuple(token_ids[:low])
        return cut if self._text(anchor, cut) == text else None

    def _prompt_ids(self, question: str) -> tuple[int, ...]:
        text = self._prompt.render(question)
        return self._encode(text, special=self._prompt.adds_special_tokens)

    def _encode(self, text: str, *, special: bool) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=special))

    def _text(self, anchor: tuple[int, ...], token_ids: Sequence[int]) -> str:
        return self._decode([*anchor, *token_ids]).removeprefix(self._decode(list(anchor)))

    def _decode(self, token_ids: list[int]) -> str:
        return self._tokenizer.decode(
            token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )

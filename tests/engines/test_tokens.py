import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepmill.engines.base import Prefix
from stepmill.engines.prompts import PlainPrompt
from stepmill.engines.tokens import PrefixTokens
from stepmill.errors import UserError

pytest.importorskip("transformers")
SOLUTION = "Step 1: 12 + 5 = 17.\n\nStep 2: 17 é 日本 𝛑.\n\nThe answer is 17.\n"
QUESTION = "How many?"


def _wrap(tokenizer):
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


@pytest.fixture(scope="module")
def byte_level():
    """Byte-level BPE, as of GPT-2 and Llama 3; its corpus makes `.\\n\\n` one token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([".\n\n", "Step", "answer"] * 20, trainer)
    return _wrap(tokenizer)


@pytest.fixture(scope="module")
def spaced():
    """A tokenizer that puts a space before every text and takes it away again, as of Llama 2."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted({*SOLUTION, *string.printable, "▁"})
    vocabulary = {c: i for i, c in enumerate(["<s>", "</s>", *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always", split=False)
    return _wrap(tokenizer)


def _text(tokenizer, ids):
    return tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, len(SOLUTION)))
def test_the_ids_decode_to_prompt_and_prefix_to_the_letter(byte_level, spaced, cut):
    for tokenizer in (byte_level, spaced):
        tokens = PrefixTokens(PlainPrompt(), tokenizer)
        sampled = tuple(tokenizer.encode(SOLUTION, add_special_tokens=False))
        for known in (None, sampled):
            ids = tokens.ids(Prefix(QUESTION, SOLUTION[:cut], known))
            assert _text(tokenizer, ids) == f"Question: {QUESTION}\nAnswer:\n{SOLUTION[:cut]}"


def test_the_sampled_tokens_are_sent_and_not_those_of_the_text(byte_level):
    text = "Step.\n\n"
    sampled = tuple(i for piece in text for i in byte_level.encode(piece))
    assert len(sampled) > len(byte_level.encode(text))
    tokens = PrefixTokens(PlainPrompt(), byte_level)
    prompt = tokens.prompt_ids(QUESTION)
    rest = tuple(byte_level.encode("Step 2"))
    assert tokens.ids(Prefix(QUESTION, text, sampled)) == prompt + sampled
    assert tokens.ids(Prefix(QUESTION, text, (*sampled, *rest, 1))) == prompt + sampled


def test_an_end_of_text_token_is_never_put_before_a_continuation(byte_level):
    sampled = (*byte_level.encode("Step"), byte_level.eos_token_id)
    tokens = PrefixTokens(PlainPrompt(), byte_level)
    assert byte_level.eos_token_id not in tokens.ids(Prefix(QUESTION, "Step", sampled))


def test_a_cut_inside_a_token_is_tokenised_anew(byte_level):
    sampled = tuple(byte_level.encode("Step.\n\n"))
    tokens = PrefixTokens(PlainPrompt(), byte_level)
    expected = tokens.prompt_ids(QUESTION) + tuple(byte_level.encode("Step.\n"))
    assert tokens.ids(Prefix(QUESTION, "Step.\n", sampled)) == expected


def test_tokens_of_another_text_are_not_sent(byte_level):
    tokens = PrefixTokens(PlainPrompt(), byte_level)
    expected = tokens.prompt_ids(QUESTION) + tuple(byte_level.encode("Step"))
    assert tokens.ids(Prefix(QUESTION, "Step", tuple(byte_level.encode("answer")))) == expected


def test_a_tokenizer_that_loses_white_space_is_refused(byte_level, monkeypatch):
    decode = byte_level.decode
    monkeypatch.setattr(byte_level, "decode", lambda *a, **k: " ".join(decode(*a, **k).split()))
    with pytest.raises(UserError, match="as it was"):
        PrefixTokens(PlainPrompt(), byte_level)

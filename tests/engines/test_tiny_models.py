"""The tiny models that come with the package: their files and their tokenizer.

Only the tokenizers library is needed here; that vLLM loads them is tested with the engine.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from stepmill.engines.embedded import MODELS
from stepmill.wordproblems import generate

FOLDERS = sorted(path.name for path in MODELS.iterdir())
TOKENIZER = Tokenizer.from_file(str(MODELS / "tiny" / "tokenizer.json"))
TEXTS = [f"Question: {p.question}\nAnswer:\n{p.solution}" for p in generate(4, 50)]


def ids(text: str) -> list[int]:
    return TOKENIZER.encode(text).ids


def test_the_default_model_is_there():
    assert "tiny" in FOLDERS


@pytest.mark.parametrize("name", FOLDERS)
def test_a_model_is_whole_small_and_has_a_card(name: str):
    folder: Path = MODELS / name
    assert (folder / "model.safetensors").stat().st_size < 4_000_000
    assert json.loads((folder / "config.json").read_text())["model_type"] == "llama"
    card = (folder / "README.md").read_text()
    assert card.startswith("---\n")
    assert "license: apache-2.0" in card
    assert (folder / "tokenizer.json").read_text() == (MODELS / "tiny/tokenizer.json").read_text()


@given(st.text())
def test_every_text_survives_the_tokenizer(text: str):
    assert TOKENIZER.decode(ids(text)) == text


def test_a_digit_is_a_token_and_so_is_a_line_break():
    assert TOKENIZER.encode("Step 12: 3\n45").tokens == [
        "Step",
        "Ġ1",
        "2",
        ":",
        "Ġ3",
        "Ċ",
        "4",
        "5",
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_a_solution_cut_after_a_line_or_a_word_is_encoded_as_it_was_written(text: str):
    whole = ids(text)
    for end, character in enumerate(text):
        if character in "\n " or text[end - 1] in ".\n":
            assert ids(text[:end]) == whole[: len(ids(text[:end]))]

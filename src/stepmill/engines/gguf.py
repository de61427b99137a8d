"""From a GGUF file to a folder in the Hugging Face format, which vLLM can run.

For Llama models with a byte-level BPE tokenizer, quantised or not; weights are written as bfloat16.
vLLM's own reader of GGUF needs a GPU, and that of transformers needs one more package and writes a
folder only after repairs. Source of names and fields: the GGUF specification,
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Knows no engine.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepmill.errors import UserError

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

_WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_IN_LAYER = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
_SPLITS_DIGITS = {"smollm": True, "gpt-2": False}
"""Pre-tokenizers that are known here, and whether each digit stands alone."""
_CONTROL, _USER_DEFINED = 3, 4
"""Kinds of tokens that are matched as a whole before BPE."""


def convert(source: Path, folder: Path) -> None:
    """Write the model in `source` to `folder`, which must not exist.

    Raises:
        UserError: the file holds a model that is not of the kind described above.
    """
    from gguf import GGUFReader
    from safetensors.torch import save_file

    reader = GGUFReader(source)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    _require(source, fields, "general.architecture", ("llama",))
    _require(source, fields, "tokenizer.ggml.model", ("gpt2",))
    _require(source, fields, "tokenizer.ggml.pre", tuple(_SPLITS_DIGITS))
    weights = _weights(source, reader.tensors, fields)
    tokenizer = _tokenizer(fields)

    folder.mkdir(parents=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _write(folder / "config.json", _config(fields, tied="lm_head.weight" not in weights))
    _write(folder / "generation_config.json", _special_ids(fields))
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(folder / "tokenizer_config.json", _tokenizer_config(fields))


def _require(source: Path, fields: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> None:
    if fields.get(name) not in allowed:
        raise UserError(
            f"{source}: {name} is {fields.get(name)!r}; only {', '.join(allowed)} can be converted"
        )


def _weights(source: Path, tensors: Any, fields: Mapping[str, Any]) -> "dict[str, torch.Tensor]":  # noqa: ANN401 - gguf's own
    import numpy as np
    import torch
    from gguf.quants import dequantize

    heads = {
        "attn_q": fields["llama.attention.head_count"],
        "attn_k": fields["llama.attention.head_count_kv"],
    }
    weights = {}
    for tensor in tensors:
        array = dequantize(tensor.data, tensor.tensor_type)
        name = _WHOLE.get(tensor.name)
        if name is None:
            match tensor.name.split("."):
                case ["blk", layer, part, "weight"] if part in _IN_LAYER:
                    name = f"model.layers.{layer}.{_IN_LAYER[part]}.weight"
                    if part in heads:
                        array = _rotary_halves(array, heads[part])
                case _:
                    raise UserError(f"{source}: no place for the tensor {tensor.name!r}")
        # a copy: torch warns of arrays that cannot be written to, as those mapped from a file
        weights[name] = torch.from_numpy(np.array(array, np.float32)).to(torch.bfloat16)
    return weights


def _rotary_halves(weight: Any, n_heads: int) -> Any:  # noqa: ANN401 - numpy, imported where used
    """Undo the order of rows in GGUF, which puts the two members of a rotated pair side by side.

    Args:
        weight: (heads * head size, hidden).
        n_heads: heads that the rows belong to.
    """
    pairs = weight.shape[0] // n_heads // 2
    shape = (n_heads, pairs, 2, weight.shape[1])
    return weight.reshape(shape).swapaxes(1, 2).reshape(weight.shape)


def _config(fields: Mapping[str, Any], *, tied: bool) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "hidden_act": "silu",
        "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": fields["llama.attention.head_count"],
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "max_position_embeddings": fields["llama.context_length"],
        # float32 in the file: 1e-5 would come out as 9.999999747378752e-06
        "rms_norm_eps": round(float(fields["llama.attention.layer_norm_rms_epsilon"]), 10),
        "rope_theta": float(fields["llama.rope.freq_base"]),
        "tie_word_embeddings": tied,
        "attention_bias": False,
        "mlp_bias": False,
        **_special_ids(fields),
    }


def _special_ids(fields: Mapping[str, Any]) -> dict[str, int | None]:
    return {
        "bos_token_id": fields["tokenizer.ggml.bos_token_id"],
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
        "pad_token_id": fields.get("tokenizer.ggml.padding_token_id"),
    }


def _tokenizer(fields: Mapping[str, Any]) -> "Tokenizer":
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if _SPLITS_DIGITS[fields["tokenizer.ggml.pre"]]:
        digits = pre_tokenizers.Digits(individual_digits=True)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    else:
        tokenizer.pre_tokenizer = words
    tokenizer.decoder = decoders.ByteLevel()
    for token, kind in zip(tokens, fields["tokenizer.ggml.token_type"], strict=True):
        if kind == _CONTROL:
            tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)])
        elif kind == _USER_DEFINED:
            tokenizer.add_tokens([AddedToken(token, normalized=False)])
    return tokenizer


def _tokenizer_config(fields: Mapping[str, Any]) -> dict[str, Any]:
    tokens = fields["tokenizer.ggml.tokens"]
    unknown = fields.get("tokenizer.ggml.unknown_token_id")
    ids = {**_special_ids(fields), "unk_token_id": unknown}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": fields["llama.context_length"],
        **{name.removesuffix("_id"): tokens[i] for name, i in ids.items() if i is not None},
    }
    if "tokenizer.chat_template" in fields:
        config["chat_template"] = fields["tokenizer.chat_template"]
    return config


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

import json

import pytest

from stepmill.engines.gguf import convert
from stepmill.errors import UserError

gguf = pytest.importorskip("gguf")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
HEADS, KV_HEADS, HIDDEN, LAYERS = 4, 2, 32, 2
TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


@pytest.fixture(scope="module")
def model():
    """A small Llama with random weights, each exact in bfloat16, so that nothing is rounded."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=259,
        hidden_size=HIDDEN,
        intermediate_size=48,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=64,
        rms_norm_eps=1e-5,
        rope_theta=5000.0,
        tie_word_embeddings=True,
    )
    llama = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        for weight in llama.parameters():
            weight.copy_((weight + 0.1 * torch.randn_like(weight)).bfloat16())
    return llama.eval()


def pairs_together(weight, n_heads):
    """Rows in the order of GGUF: both members of each rotated pair beside one another.

    As `permute` of llama.cpp's convert_hf_to_gguf.py does it.
    """
    shape = (n_heads, 2, weight.shape[0] // n_heads // 2, weight.shape[1])
    return weight.reshape(shape).swapaxes(1, 2).reshape(weight.shape)


@pytest.fixture
def write(model, tmp_path):
    """Write the model as GGUF, with some fields changed; returns the path."""

    def call(**changed):
        from tokenizers import pre_tokenizers

        path = tmp_path / "model.gguf"
        tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "ab", "<|end|>", "<|user|>"]
        fields = {"arch": "llama", "tokenizer": "gpt2", "pre": "smollm", **changed}
        out = gguf.GGUFWriter(path, fields["arch"])
        out.add_context_length(64)
        out.add_embedding_length(HIDDEN)
        out.add_block_count(LAYERS)
        out.add_feed_forward_length(48)
        out.add_head_count(HEADS)
        out.add_head_count_kv(KV_HEADS)
        out.add_layer_norm_rms_eps(1e-5)
        out.add_rope_freq_base(5000.0)
        out.add_tokenizer_model(fields["tokenizer"])
        out.add_tokenizer_pre(fields["pre"])
        out.add_token_list(tokens)
        out.add_token_types([1] * 257 + [3, 3])
        out.add_token_merges(["a b"])
        out.add_bos_token_id(257)
        out.add_eos_token_id(257)
        out.add_chat_template(TEMPLATE)
        names = {
            "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output",
            "gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down",
            "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
        }  # fmt: skip
        for name, weight in model.model.state_dict().items():
            array = weight.numpy()
            match name.split("."):
                case ["embed_tokens", _]:
                    name = "token_embd.weight"
                case ["norm", _]:
                    name = "output_norm.weight"
                case ["layers", layer, *_, part, "weight"]:
                    heads = {"q_proj": HEADS, "k_proj": KV_HEADS}.get(part)
                    if heads:
                        array = pairs_together(array, heads)
                    name = f"blk.{layer}.{names[part]}.weight"
            out.add_tensor(fields.get(name, name), array)
        out.write_header_to_file()
        out.write_kv_data_to_file()
        out.write_tensors_to_file()
        out.close()
        return path

    return call


def test_the_converted_model_computes_what_the_original_does(model, write, tmp_path):
    convert(write(), tmp_path / "hf")
    again = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "hf", dtype=torch.float32)
    ids = torch.arange(40)[None]
    with torch.no_grad():
        torch.testing.assert_close(again(ids).logits, model(ids).logits)


def test_the_tokenizer_keeps_every_text_and_splits_digits_and_special_tokens(write, tmp_path):
    convert(write(), tmp_path / "hf")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    ids = tokenizer.encode("ab 12 é\n<|user|>")
    assert tokenizer.convert_ids_to_tokens(ids) == (
        ["ab", "Ġ", "1", "2", "Ġ", "Ã", "©", "Ċ", "<|user|>"]
    )
    assert tokenizer.decode(ids) == "ab 12 é\n<|user|>"
    assert tokenizer.eos_token == "<|end|>"
    assert tokenizer.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False) == "x"


def test_a_float_of_the_file_is_written_as_it_was_meant(write, tmp_path):
    convert(write(), tmp_path / "hf")
    assert json.loads((tmp_path / "hf" / "config.json").read_text())["rms_norm_eps"] == 1e-5


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"arch": "mamba"}, "general.architecture is 'mamba'"),
        ({"tokenizer": "llama"}, "tokenizer.ggml.model is 'llama'"),
        ({"pre": "qwen2"}, "tokenizer.ggml.pre is 'qwen2'"),
        ({"blk.0.attn_q.weight": "blk.0.attn_q_norm.weight"}, "blk.0.attn_q_norm.weight"),
    ],
)
def test_another_kind_of_model_is_refused_and_nothing_is_written(
    write, tmp_path, changed, complaint
):
    with pytest.raises(UserError, match=r"model\.gguf") as error:
        convert(write(**changed), tmp_path / "hf")
    assert complaint in str(error.value)
    assert not (tmp_path / "hf").exists()

"""The attention of right-padded rows against transformers' own with a mask of the padding."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    MambaConfig,
    MistralConfig,
    Qwen2Config,
)
from transformers.integrations import sdpa_attention

from ragen_starpo.engine import attention

WIDTH = 9
SMALL = {
    "vocab_size": 50,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "pad_token_id": 0,
}
CONFIGS = {
    "grouped": Qwen2Config(**SMALL),
    "sliding window": MistralConfig(**SMALL, sliding_window=3),
    "both": Gemma3TextConfig(
        **SMALL, sliding_window=3, layer_types=["sliding_attention", "full_attention"]
    ),
    "one head a query": GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=4),
    "no attention": MambaConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2),
}
LENGTHS = torch.tensor([WIDTH, 5, 2])


def results(model, inputs):
    """Return log-probabilities before the padding, and the gradient of their sum."""
    logits = model(**inputs, use_cache=False).logits[:, :-1]
    labels = inputs["input_ids"][:, 1:, None]
    inside = torch.arange(1, WIDTH) < LENGTHS[:, None]
    log_probs = torch.log_softmax(logits, -1).gather(-1, labels)[..., 0][inside]
    gradient = torch.autograd.grad(log_probs.sum(), list(model.parameters()))
    return log_probs.detach(), gradient


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_results_are_those_with_a_mask_of_the_padding(name, repeats, monkeypatch):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(CONFIGS[name]).eval()
        ids = torch.randint(1, 50, (len(LENGTHS), WIDTH))
    mask = (torch.arange(WIDTH) < LENGTHS[:, None]).long()
    expected = results(model, {"input_ids": ids * mask, "attention_mask": mask})
    attention.use_causal_attention(model)
    assert name == "no attention" or model.config._attn_implementation == attention.ATTENTION
    heads, attend = [], functional.scaled_dot_product_attention

    def watched(query, key, value, **named):
        heads.append((query.shape[1] // key.shape[1], named.get("enable_gqa", False)))
        return attend(query, key, value, **named)

    monkeypatch.setattr(sdpa_attention.torch.nn.functional, "scaled_dot_product_attention", watched)
    monkeypatch.setattr(attention, "_needs_equal_heads", lambda _: repeats)
    found = results(model, attention.padded_inputs(ids * mask))
    assert_close(found, expected, atol=1e-6, rtol=1e-5)
    if name == "grouped":
        assert set(heads) == {(1, False) if repeats else (2, True)}


def test_no_mask_is_made_and_nothing_is_read_from_the_device(monkeypatch):
    """On the device `meta` nothing can be read, so an attempt would raise."""
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(CONFIGS["grouped"])
    attention.use_causal_attention(model)
    masks, attend = [], functional.scaled_dot_product_attention

    def watched(*given, attn_mask, is_causal, **named):
        masks.append((attn_mask, is_causal))
        return attend(*given, attn_mask=attn_mask, is_causal=is_causal, **named)

    monkeypatch.setattr(sdpa_attention.torch.nn.functional, "scaled_dot_product_attention", watched)
    ids = torch.zeros((3, WIDTH), dtype=torch.int64, device="meta")
    model(**attention.padded_inputs(ids), use_cache=False)
    assert masks == [(None, True)] * 2


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_only_float32_on_a_gpu_needs_equal_heads(device, dtype):
    query = SimpleNamespace(device=torch.device(device), dtype=dtype)
    assert attention._needs_equal_heads(query) == (device == "cuda" and dtype == torch.float32)

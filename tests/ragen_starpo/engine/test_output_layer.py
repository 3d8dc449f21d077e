"""Scores of labels in chunks of any size, compared with torch's own."""

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ragen_starpo.engine import output_layer
from ragen_starpo.engine.output_layer import OutputLayer, score_labels


def plain_scores(hidden, weight, bias, labels, temperature):
    logits = torch.nn.functional.linear(hidden, weight, bias)
    normalised = torch.log_softmax(logits / temperature, -1)
    chosen = normalised.gather(-1, labels[:, None])[:, 0]
    return chosen, -(normalised.exp() * normalised).sum(-1)


@given(
    *(st.integers(1, 9), st.integers(1, 7), st.integers(1, 40), st.integers(0, 2**31)),
    *(st.booleans(), st.booleans()),
)
def test_scores_and_gradients_are_those_of_log_softmax(
    tokens, vocabulary, at_once, seed, has_bias, own_temperatures
):
    noise = torch.Generator().manual_seed(seed)

    def drawn(*shape):
        return torch.randn(*shape, generator=noise)

    inputs = [drawn(tokens, 5), 3 * drawn(vocabulary, 5)]
    inputs += [drawn(vocabulary)] if has_bias else []
    for one in inputs:
        one.requires_grad_()
    hidden, weight, *bias = inputs
    labels = torch.randint(0, vocabulary, (tokens,), generator=noise)
    temperature = drawn(tokens).abs() + 0.5 if own_temperatures else 0.7
    slopes = drawn(tokens), drawn(tokens)
    column = temperature[:, None] if own_temperatures else temperature
    expected = plain_scores(hidden, weight, bias[0] if bias else None, labels, column)
    before = output_layer.LOGITS_AT_ONCE
    output_layer.LOGITS_AT_ONCE = {"cpu": at_once}
    try:
        found = score_labels(hidden, weight, bias[0] if bias else None, labels, temperature)
        gradients = torch.autograd.grad(found, inputs, slopes)
    finally:
        output_layer.LOGITS_AT_ONCE = before
    assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert_close(gradients, torch.autograd.grad(expected, inputs, slopes), atol=2e-4, rtol=1e-4)


def test_half_precision_is_normalised_in_full():
    hidden = torch.zeros(1, 3, dtype=torch.bfloat16)
    found = score_labels(hidden, torch.ones(4096, 3), None, torch.tensor([7]), 1.0)
    assert_close(found, (torch.tensor([-8.317766]), torch.tensor([8.317766])))


SMALL = {
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "initializer_range": 0.5,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("architecture", "settings", "is_last"),
    [
        ("Llama", {}, True),
        ("Qwen3", {"head_dim": 8}, True),
        ("Phi", {}, True),  # its output layer has a bias
        ("Mixtral", {}, True),
        ("GPT2", {"n_embd": 16, "n_layer": 1, "n_head": 2}, True),
        ("Mamba", {}, True),
        ("Gemma2", {"head_dim": 8, "final_logit_softcapping": 0.5}, False),
        ("Granite", {"logits_scaling": 2.0}, False),
        ("Cohere", {}, False),
    ],
)
def test_a_model_that_changes_its_logits_is_scored_by_them(architecture, settings, is_last, device):
    config = getattr(transformers, f"{architecture}Config")(**{**SMALL, **settings})
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(0)
        model = getattr(transformers, f"{architecture}ForCausalLM", None)
        model = (model or transformers.GPT2LMHeadModel)(config).eval()
    if device == "meta":
        assert OutputLayer(model)._is_last == is_last
        return
    ids = torch.arange(12).view(2, 6)
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits
        layer = OutputLayer(model)
        assert layer._is_last == is_last
        places = torch.tensor([0, 3, 7, 10])
        labels = ids.flatten()[places + 1]
        with layer.scoring(places, labels, 0.7):
            inside = model(input_ids=ids, use_cache=False).logits
            found = layer.read(inside)
        assert inside.shape == ((4, 2) if is_last else logits.shape)
        normalised = torch.log_softmax(logits.flatten(0, 1)[places] / 0.7, -1)
        entropies = -(normalised.exp() * normalised).sum(-1)
        chosen = normalised.gather(-1, labels[:, None])[:, 0]
        assert_close(found, (chosen, entropies), atol=1e-5, rtol=1e-5)
        assert_close(model(input_ids=ids, use_cache=False).logits, logits)


def test_a_model_whose_backbone_is_not_found_is_scored_by_all_logits():
    """As Llama 4, whose prefix is not the backbone's name."""
    with torch.random.fork_rng():
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL)).eval()
    assert OutputLayer(model)._is_last
    model.base_model_prefix = "language_model"
    assert not OutputLayer(model)._is_last

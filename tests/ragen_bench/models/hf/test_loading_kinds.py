"""Which models run continuously, on small random models of several kinds."""

import pytest
import torch
import transformers

from ragen_bench.models import Sampling
from ragen_bench.models.base import ask_all
from ragen_bench.models.hf import loading
from ragen_bench.models.hf.loading import enable_rows
from ragen_bench.models.hf.model import HFModel

from ..hf_models import SHAPE, Reference, request, save

pytestmark = pytest.mark.xdist_group("language-model")
SMALL = {
    **{name: value for name, value in SHAPE.items() if name not in ("vocab_size", "eos_token_id")},
    "vocab_size": 64,
    "head_dim": 8,
    "pad_token_id": 0,
}
IDS = list(range(3, 40))


def made(kind, **changes):
    torch.manual_seed(0)
    settings = {**SMALL, **changes}
    config = getattr(transformers, f"{kind}Config")(**settings)
    return getattr(transformers, f"{kind}ForCausalLM")(config).eval()


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("Llama", {}),
        ("Qwen2", {}),
        ("Qwen3", {"num_key_value_heads": 4}),
        ("Mistral", {"sliding_window": None}),
        ("Gemma", {"num_key_value_heads": 1}),
        ("Olmo2", {}),
        ("Phi3", {}),
        ("Mixtral", {"num_local_experts": 4, "sliding_window": None}),
        (
            "DeepseekV3",
            {
                "q_lora_rank": None,
                "kv_lora_rank": 8,
                "qk_rope_head_dim": 8,
                "qk_nope_head_dim": 8,
                "v_head_dim": 12,
                "n_routed_experts": 2,
                "n_group": 1,
                "topk_group": 1,
                "num_experts_per_tok": 1,
                "first_k_dense_replace": 1,
                "num_key_value_heads": 4,
            },
        ),
    ],
)
def test_models_with_full_attention_run_continuously(kind, changes):
    model = made(kind, **changes)
    assert enable_rows(model, IDS) == ""
    assert model.config._attn_implementation == "ragen_rows"


def test_a_short_conversation_is_enough_for_the_trial():
    assert enable_rows(made("Llama"), IDS[:5]) == ""


@pytest.mark.parametrize(
    ("kind", "changes", "reason"),
    [
        ("Mistral", {"sliding_window": 8}, "keep all keys"),
        ("Gemma2", {}, "keep all keys"),
        ("Gemma2", {"layer_types": ["full_attention"] * 2}, "uses softcap"),
        (
            "Llama",
            {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}},
            "depend on the length",
        ),
        ("Bloom", {"n_layer": 2, "n_head": 4}, "cannot be replaced"),
        ("Mamba", {}, "cannot be"),
    ],
)
def test_others_are_left_as_they_are_and_the_reason_is_told(kind, changes, reason):
    model = made(kind, **changes)
    before = model.config._attn_implementation
    assert reason in enable_rows(model, IDS)
    assert model.config._attn_implementation == before


def test_a_model_that_answers_otherwise_by_rows_is_noticed(monkeypatch):
    model = made("Llama")
    monkeypatch.setattr(loading, "_run_by_rows", lambda model, ids: plain * 1.01)
    plain = loading._run_plain(model, IDS)
    assert "logits differ when it reads in pieces" in enable_rows(model, IDS)
    monkeypatch.setattr(loading, "_run_by_rows", lambda model, ids: plain * float("nan"))
    assert "logits differ when it reads in pieces" in enable_rows(model, IDS)


def test_the_trial_depends_on_every_token_of_the_conversation():
    model = made("Llama")
    plain = loading._run_plain(model, IDS)
    for place in range(20):
        changed = [*IDS[:place], 50, *IDS[place + 1 :]]
        assert not torch.allclose(plain[-1], loading._run_plain(model, changed)[-1])


@pytest.fixture(scope="module")
def sliding(tmp_path_factory):
    torch.manual_seed(0)
    config = transformers.MistralConfig(**{**SHAPE, "sliding_window": 8})
    return save(transformers.MistralForCausalLM(config), tmp_path_factory.mktemp("sliding"))


def test_waves_answer_like_decoding_each_alone(sliding):
    model, reference = HFModel(str(sliding), slots=4), Reference(sliding)
    assert "in waves, where all wait for the longest answer: its layers do not" in model.probe()
    assert model.identity()["engine"] == "waves"
    assert (model.slots, model.group_size) == (4, 4)
    requests = [request(str(i), text) for i, text in enumerate(["Wet.", "Go " * 30, "No " * 600])]
    for sampling in (Sampling(0, 8, "a", 0), Sampling(1.5, 8, "a", 0)):
        answers = ask_all(model, requests, sampling)
        assert answers[:2] == [reference.complete(one, sampling) for one in requests[:2]]
        assert answers[2].finish == "context"
        assert ask_all(model, requests[2:], sampling) == answers[2:]

"""Adapters of any layer: the merged model is the trained one, or the recipe is refused."""

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    MixtralConfig,
    OPTConfig,
)

from ragen_bench.errors import UserError
from ragen_starpo.engine.adapters import check_adapters
from ragen_starpo.engine.worker import Critic, Policy
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.run_sections import LoraSettings, OptimiserSettings
from tests.ragen_starpo.engine.batches import VOCABULARY, plain_log_probs, token_batch

SETTINGS = OptimiserSettings(learning_rate=3e-2)


@pytest.fixture(scope="session")
def gpt2_dir(tmp_path_factory):
    """A model whose linear layers store their weights transposed, some of them square."""
    folder = tmp_path_factory.mktemp("models") / "gpt2"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": 1}
        config = GPT2Config(
            vocab_size=VOCABULARY, initializer_range=0.2, tie_word_embeddings=False, **sizes
        )
        config.resid_pdrop = config.embd_pdrop = config.attn_pdrop = 0.0
        GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def assert_merged(folder, targets, tmp_path):
    batch, lora = token_batch(), LoraSettings(rank=4, alpha=12, target_modules=targets)
    policy = Policy(folder, SETTINGS, 3, lora)
    before = policy.log_probs(batch)[0]
    for _ in range(3):
        policy.update(batch, {}, lambda log_probs, *_: (-log_probs.sum(), {}))
    trained = policy.log_probs(batch)[0]
    assert (trained - before).abs().max() > 0.5
    policy.save(tmp_path / "saved")
    sampling = AutoModelForCausalLM.from_pretrained(folder)
    sampling.load_state_dict(policy.state_for_rollout())
    exported = AutoModelForCausalLM.from_pretrained(tmp_path / "saved")
    for model in (sampling, exported):
        with torch.no_grad():
            found = plain_log_probs(model.eval(), batch)[0]
        torch.testing.assert_close(found, trained, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "targets",
    [
        pytest.param(("lm_head", "embed_tokens"), id="embeddings"),
        pytest.param(("lm_head",), marks=pytest.mark.slow, id="output"),
        pytest.param(("embed_tokens", "q_proj"), marks=pytest.mark.slow, id="input"),
        pytest.param("o_proj", marks=pytest.mark.slow, id="one name"),
        pytest.param(r".*\.1\..*_proj", marks=pytest.mark.slow, id="regular expression"),
        pytest.param("All-Linear", marks=pytest.mark.slow, id="all"),
    ],
)
def test_the_exported_and_the_sampling_model_are_the_trained_one(model_dir, targets, tmp_path):
    assert_merged(model_dir, targets, tmp_path)
    assert not AutoConfig.from_pretrained(tmp_path / "saved").tie_word_embeddings


@pytest.mark.parametrize(
    "targets",
    [
        pytest.param(("c_proj", "wte"), id="square"),
        pytest.param(("c_attn", "lm_head"), marks=pytest.mark.slow, id="wide"),
        pytest.param("all-linear", marks=pytest.mark.slow, id="all"),
    ],
)
def test_transposed_weights_are_merged_in_their_layout(gpt2_dir, targets, tmp_path, recwarn):
    assert_merged(gpt2_dir, targets, tmp_path)
    assert not [str(one.message) for one in recwarn if "fan_in" in str(one.message)]


TIED = "shares its weight with another layer, as tied input and output embeddings do"
LAYERS = "name one or more of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, as"
REFUSED = [
    ("lm_head", f"lora.target_modules: lm_head {TIED}"),
    (["q_proj", "embed_tokens"], f"lora.target_modules: model.embed_tokens {TIED}"),
    (".*(head|q_proj)", f"lora.target_modules: lm_head {TIED}"),
    (["q_proj", "query"], f"lora.target_modules: query matches no layer of the model; {LAYERS}"),
    (
        "q_proj,k_proj",
        f"lora.target_modules: q_proj,k_proj matches no layer of the model; {LAYERS}",
    ),
    ([""], "lora.target_modules:  matches no layer"),
    ("(q", "lora.target_modules: (q is not a regular expression"),
    (["mlp"], f"model.layers.0.mlp is a Qwen2MLP, which cannot have adapters; {LAYERS}"),
    (["q_proj", "norm"], "model.norm is a Qwen2RMSNorm, which cannot have adapters"),
]


def recipe(folder, targets, **lora):
    settings = {"model": str(folder), "envs": ["Sokoban-v0"]}
    return recipe_of({**settings, "lora": {"target_modules": targets, **lora}}, "a test")


@pytest.mark.parametrize(("targets", "line"), REFUSED)
def test_what_cannot_be_merged_is_refused_before_weights_are_read(tied_dir, targets, line):
    """From the configuration alone, and by the policy itself."""
    made = recipe(tied_dir, targets)
    for refused in (
        lambda: check_adapters(tied_dir, made),
        lambda: Policy(tied_dir, SETTINGS, 3, made.lora),
    ):
        with pytest.raises(UserError) as error:
            refused()
        assert line in str(error.value)
        assert "\n" not in str(error.value)


def test_a_critic_without_a_target_is_refused(model_dir):
    made = recipe(model_dir, ["lm_head"], critic=True)
    for refused in (
        lambda: check_adapters(model_dir, made),
        lambda: Critic(model_dir, SETTINGS, 3, made.critic_lora),
    ):
        with pytest.raises(UserError, match=r"lora\.critic: no target matches a layer"):
            refused()
    check_adapters(model_dir, recipe(model_dir, ["lm_head", "q_proj"], critic=True))
    check_adapters(model_dir, recipe(model_dir, ["lm_head"]))


SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 50}
OTHERS = [
    (
        MixtralConfig(**SMALL, num_key_value_heads=4),
        "all-linear",
        "MixtralTopKRouter, whose adapters",
    ),
    (MixtralConfig(**SMALL, num_key_value_heads=4), ["experts"], "MixtralExperts, which cannot"),
    (OPTConfig(**SMALL), ["embed_positions"], "OPTLearnedPositionalEmbedding, which cannot have"),
]


@pytest.mark.parametrize(("config", "targets", "line"), OTHERS)
def test_layers_that_compute_otherwise_are_refused(config, targets, line, tmp_path):
    """Without their weights, which are not read."""
    config.save_pretrained(tmp_path)
    with pytest.raises(UserError, match=line):
        check_adapters(tmp_path, recipe(tmp_path, targets))
    check_adapters(tmp_path, recipe(tmp_path, ["q_proj"]))

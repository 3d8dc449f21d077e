"""What reaches the engine that samples when adapters are trained."""

import pytest
import torch
from omegaconf import OmegaConf
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM
from verl.utils.config import omega_conf_to_dataclass

from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.run_sections import LoraSettings, OptimiserSettings
from tests.ragen_starpo.engine.batches import plain_log_probs, token_batch
from tests.ragen_starpo.verl_process import VerlModel

from .test_overrides import built
from .test_runs import SETTINGS, TWO_NODES


def test_vllm_is_told_of_no_adapter(small):
    """By the two settings that verl's vLLM server reads before it enables adapters."""
    recipe = recipe_of({**TWO_NODES, "model": str(small)}, "a test")
    found = verl_config(recipe, small, "cuda").actor_rollout_ref.model
    model = omega_conf_to_dataclass(found)
    assert (model.lora_rank, model.lora["merge"], model.lora.get("rank", 0)) == (4, True, 0)
    plain = recipe_of({**TWO_NODES, "model": str(small), "lora": None}, "a test")
    found = verl_config(plain, small, "cuda").actor_rollout_ref.model
    assert OmegaConf.to_container(found)["lora"]["merge"] is False


def test_a_critic_gets_adapters_where_the_recipe_says_so(small):
    def critic(lora):
        recipe = recipe_of({**SETTINGS, "model": str(small), "lora": lora}, "a test")
        return omega_conf_to_dataclass(verl_config(recipe, small, "cpu").critic.model)

    assert critic(None).lora_rank == critic({"rank": 4}).lora_rank == 0
    model = critic({"rank": 4, "alpha": 8, "target_modules": ["q_proj"], "critic": True})
    engine = built("critic.model", model)
    adapted = engine._build_lora_module(engine._build_module())
    trained = {name for name, weight in adapted.named_parameters() if weight.requires_grad}
    layers = [
        f"base_model.model.model.layers.{layer}.self_attn.q_proj.lora_{half}.default.weight"
        for layer in range(model.hf_config.num_hidden_layers)
        for half in "AB"
    ]
    assert trained == {*layers, "base_model.model.score.weight", "base_model.model.score.bias"}
    assert adapted.peft_config["default"].lora_alpha == 8


def test_weights_arrive_by_the_models_own_names(small):
    lora = LoraSettings(rank=4, alpha=8)
    model = VerlModel("language_model", small, OptimiserSettings(1e-3), 1, lora)
    sent, adapters = model.engine.get_per_tensor_param()
    shapes = {name: weight.shape for name, weight in sent}
    own = {name: weight.shape for name, weight in load_file(small / "model.safetensors").items()}
    assert adapters is None
    assert own.items() <= shapes.items()
    assert shapes.keys() - own.keys() <= {"lm_head.weight"}


@pytest.fixture(scope="module")
def untied(small, tmp_path_factory):
    """The small model with an output layer of its own."""
    folder = tmp_path_factory.mktemp("models") / "untied"
    config = AutoConfig.from_pretrained(small, tie_word_embeddings=False)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def test_embeddings_arrive_as_they_were_trained(untied):
    batch = token_batch()
    lora = LoraSettings(rank=4, alpha=8, target_modules=("lm_head", "embed_tokens", "q_proj"))
    model = VerlModel("language_model", untied, OptimiserSettings(3e-2), 4, lora)
    (before,) = model.outputs(batch, ["log_probs"])
    for _ in range(3):
        model.update(batch, {}, lambda log_probs, _entropies, _: (-log_probs.sum(), {}))
    (trained,) = model.outputs(batch, ["log_probs"])
    assert (trained - before).abs().max() > 0.5
    plain = AutoModelForCausalLM.from_pretrained(untied)
    plain.load_state_dict(dict(model.engine.get_per_tensor_param()[0]))
    with torch.no_grad():
        found = plain_log_probs(plain.eval(), batch)[0]
    torch.testing.assert_close(found, trained, atol=2e-5, rtol=1e-4)

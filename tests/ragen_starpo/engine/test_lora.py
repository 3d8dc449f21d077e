import pytest
import torch
from transformers import AutoModelForCausalLM

from ragen_starpo.engine.worker import Critic, Policy
from ragen_starpo.recipes.run_sections import LoraSettings, OptimiserSettings
from tests.ragen_starpo.engine.batches import (
    plain_critic,
    plain_log_probs,
    plain_values,
    token_batch,
)

pytestmark = pytest.mark.slow

SETTINGS = OptimiserSettings(learning_rate=1e-2)


def likelihood(log_probs, *_):
    return -log_probs.sum(), {}


def distance_from_one(values, given):
    return ((values - 1) * given["mask"]).square().sum(), {}


@pytest.fixture(params=["all-linear", ("q_proj", "down_proj")])
def lora(request):
    return LoraSettings(rank=4, alpha=12, target_modules=request.param)


def test_adapters_alone_are_trained_and_come_out_merged(tied_dir, lora):
    batch = token_batch()
    policy = Policy(tied_dir, SETTINGS, 3, lora)
    assert policy._backend._output_layer._is_last
    base = AutoModelForCausalLM.from_pretrained(tied_dir)
    before = policy.state_for_rollout()
    assert before.keys() == base.state_dict().keys()
    assert all(torch.equal(before[name], weight) for name, weight in base.state_dict().items())
    losses = [policy.update(batch, {}, likelihood)["loss"] for _ in range(4)]
    assert losses[-1] < losses[0] - 1

    module = policy._backend.module.state_dict()
    assert_adapted(module, base.state_dict(), lora)

    base.load_state_dict(policy.state_for_rollout())
    with torch.no_grad():
        merged = plain_log_probs(base, batch)[0]
    torch.testing.assert_close(policy.log_probs(batch)[0], merged, atol=1e-5, rtol=1e-5)


def assert_adapted(module, base, lora):
    """Assert that adapters of the layers that are named have moved, and no weight below them."""
    adapted = set()
    for name, weight in module.items():
        if "lora_" in name:
            adapted.add(name.split(".")[-4])
            assert "lora_A" in name or weight.any()
        else:
            own = name.removeprefix("base_model.model.").replace(".base_layer", "")
            assert torch.equal(weight, base[own]), name
    every = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
    assert adapted == (every if lora.target_modules == "all-linear" else {"q_proj", "down_proj"})


def test_a_critics_adapters_are_trained_and_its_whole_head(tied_dir, lora):
    batch = token_batch()
    critic = Critic(tied_dir, SETTINGS, 3, lora)
    first = critic._backend.state()
    assert first.keys() == Critic(tied_dir, SETTINGS, 3)._backend.state().keys()
    losses = [critic.update(batch, {}, distance_from_one)["loss"] for _ in range(6)]
    assert losses[-1] < losses[0] / 2
    module = critic._backend.module.state_dict()
    for name in ("score.weight", "score.bias"):
        assert not torch.equal(module.pop(f"base_model.model.{name}"), first[name])
    assert_adapted(module, first, lora)
    with torch.no_grad():
        merged = plain_values(plain_critic(critic, tied_dir), batch)
    torch.testing.assert_close(critic.values(batch), merged, atol=1e-5, rtol=1e-5)


def test_the_seed_draws_the_adapters_and_leaves_torch_alone(model_dir, lora):
    def drawn(seed):
        policy = Policy(model_dir, SETTINGS, 3, lora, seed=seed)
        state = policy._backend.module.state_dict()
        return torch.cat([w.flatten() for n, w in state.items() if "lora_A" in n])

    generator = torch.get_rng_state()
    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))
    assert torch.equal(torch.get_rng_state(), generator)

"""How models compute and what vLLM keeps, as verl reads it."""

import pytest
from verl.utils.config import omega_conf_to_dataclass

from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.run_sections import ClusterSettings

from .test_runs import SETTINGS


@pytest.fixture
def config(small):
    def of(device="cuda", overrides=(), **cluster):
        recipe = recipe_of({**SETTINGS, "model": str(small), "cluster": cluster}, "a test")
        return verl_config(recipe, small, device, overrides)

    return of


@pytest.mark.parametrize("prefix_caching", [True, False])
@pytest.mark.parametrize("sleep", [True, False])
def test_what_vllm_keeps(config, prefix_caching, sleep):
    """By the settings that verl's vLLM server reads."""
    found = config(prefix_caching=prefix_caching, sleep=sleep).actor_rollout_ref.rollout
    rollout = omega_conf_to_dataclass(found)
    assert rollout.enable_prefix_caching == prefix_caching
    assert (rollout.enable_sleep_mode, rollout.free_cache_engine) == (sleep, sleep)


def test_vllm_keeps_prefixes_and_sleeps_by_default():
    assert (ClusterSettings().prefix_caching, ClusterSettings().sleep) == (True, True)


@pytest.mark.parametrize(("packing", "flash"), [("off", True), ("auto", True), ("auto", False)])
def test_packing_and_its_attention(config, monkeypatch, packing, flash):
    monkeypatch.setattr("ragen_starpo.engine.computing._has_flash_attention", lambda: flash)
    packed = packing == "auto" and flash
    found = config(packing=packing, dtype="bfloat16")
    for part in (found.actor_rollout_ref.model, found.critic.model):
        model = omega_conf_to_dataclass(part)
        assert model.use_remove_padding == packed
        attention = "flash_attention_2" if packed else "sdpa"
        assert model.override_config["attn_implementation"] == attention
    place = "critic.model.override_config.attn_implementation"
    own = config(overrides=[f"{place}=eager"], packing=packing, dtype="bfloat16")
    assert own.critic.model.override_config["attn_implementation"] == "eager"

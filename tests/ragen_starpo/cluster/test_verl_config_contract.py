import pytest
from verl.trainer.ppo.v1 import replay_buffer
from verl.workers.rollout import base

from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.recipes.recipe import recipe_of
from tests.ragen_starpo.contract import CLUSTER_SYMBOLS, changes

from .test_runs import SETTINGS


def test_the_installed_verl_has_all_that_is_used():
    assert changes(CLUSTER_SYMBOLS) == []


def test_private_places():
    """Those that no signature tells of."""
    assert ("vllm", "async") in base._ROLLOUT_REGISTRY
    assert {"partitions", "finished_keys", "failure_keys"} <= set(vars(buffer()))


def buffer():
    return replay_buffer.ReplayBuffer("sync", {}, None, "drop", {})


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_setting_that_is_decided_is_one_of_verls(device, tmp_path):
    """A setting that verl lacks would be added and change nothing."""
    from omegaconf import OmegaConf

    from ragen_starpo.cluster import verl_config as module

    recipe = recipe_of({**SETTINGS, "model": "m"}, "a test")
    plain = module._compose_config(module._default_overrides(recipe, device, "sdpa"))
    new = {"mixed_precision", "enable_sleep_mode"}  # of its dataclasses alone
    for name in module.decided_by(recipe, tmp_path, device):
        table, _, last = name.rpartition(".")
        assert last in OmegaConf.select(plain, table) or last in new, name
    config = verl_config(recipe, tmp_path, device, ["trainer.logger=[console]"])
    assert config.trainer.logger == ["console"]
    assert config.actor_rollout_ref.actor.optim.lr == 1e-3
    assert config.actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype == "fp32"

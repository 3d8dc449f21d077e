"""What verl computes again, and gathers again, follows from the estimate of memory."""

import json

import pytest
from omegaconf import open_dict

from ragen_starpo.cluster import placement
from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.engine.device_memory import Gpu
from ragen_starpo.engine.memory import GIB
from ragen_starpo.recipes.recipe import recipe_of

from .test_runs import SETTINGS

POLICY, CRITIC = (
    f"{model}.enable_gradient_checkpointing"
    for model in ("actor_rollout_ref.model", "critic.model")
)


@pytest.fixture
def fitted(small, monkeypatch):
    """Returns the settings of policy and critic: recomputes, and gathers again; and the record."""

    def fit(*overrides, **cluster):
        gpu = Gpu(79 * GIB, 80 * GIB, 9.0)
        monkeypatch.setattr(placement, "find_gpus", lambda: [gpu] * 8)
        of_gpus = {"engine": "vllm", "device": "gpu", **cluster}
        recipe = recipe_of({**SETTINGS, "model": str(small), "cluster": of_gpus}, "a test")
        config = verl_config(recipe, small, "cuda", overrides)
        place = placement.place_models(recipe, "cuda", config, None)
        with open_dict(config):
            config.ragen = {"recipe": json.dumps(recipe.as_json()), "memory": json.dumps(place)}
        record = placement.fit_to_memory(config)
        verl, critic = config.actor_rollout_ref, config.critic
        recomputes = [one.enable_gradient_checkpointing for one in (verl.model, critic.model)]
        engines = verl.actor.fsdp_config, critic.fsdp
        return recomputes, [engine.reshard_after_forward for engine in engines], record

    return fit


def test_a_model_with_room_keeps_its_activations_and_weights(fitted):
    recomputes, gathers, record = fitted()
    assert recomputes == gathers == [False, False]
    assert 30 * GIB < record["cache"] < 40 * GIB
    assert fitted(processes=2)[:2] == ([False, False], [True, True])


def test_what_users_set_stays(fitted):
    assert fitted(f"{POLICY}=true", f"{CRITIC}=true")[:2] == ([True, True], [True, True])
    assert fitted(f"{CRITIC}=true")[:2] == ([False, True], [False, False])


def test_without_an_estimate_activations_are_computed_again(fitted, monkeypatch):
    monkeypatch.setattr(placement, "check_memory", lambda *_: {"error": "unknown"})
    assert fitted()[:2] == ([True, True], [True, True])
    assert fitted(f"{POLICY}=false")[0] == [False, False]

"""What verl computes again, and how much an engine answers at once."""

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
    """Returns whether policy and critic compute activations again, and the record."""

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
        return recomputes, record

    return fit


def test_a_model_with_room_keeps_its_activations(fitted):
    recomputes, record = fitted()
    assert recomputes == [False, False]
    assert 30 * GIB < record["cache"] < 40 * GIB
    assert fitted(processes=2)[0] == [False, False]


def test_what_users_set_stays_and_says_nothing_of_the_other_model(fitted):
    assert fitted(f"{POLICY}=true", f"{CRITIC}=true")[0] == [True, True]
    assert fitted(f"{CRITIC}=true")[0] == [False, True]
    assert fitted(f"{POLICY}=false")[0] == [False, True]


def test_without_an_estimate_activations_are_computed_again(fitted, monkeypatch):
    monkeypatch.setattr(placement, "check_memory", lambda *_: {"error": "unknown"})
    assert fitted()[0] == [True, True]


@pytest.mark.parametrize(
    ("engine", "processes", "requests"),
    [("vllm", 1, 512), ("vllm", 8, 384), ("vllm", 64, 48), ("hf", 1, 256), ("hf", 64, 48)],
)
def test_vllm_answers_more_at_once_than_hf(engine, processes, requests):
    changed = {
        "model": "m",
        "rollouts": {**SETTINGS["rollouts"], "instances": 1024, "samples": 3},
        "cluster": {"engine": engine, "device": "gpu", "processes": processes},
        "validation": {"every": 0},
    }
    recipe = recipe_of({**SETTINGS, **changed}, "a test")
    assert placement.count_requests(recipe) == requests

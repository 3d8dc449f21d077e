"""Training whose model stops to give numbers: one line, and the last checkpoint stays."""

import math

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.local.actor import Actor
from ragen_starpo.local.train import train
from ragen_starpo.recipes.recipe import recipe_of

pytestmark = pytest.mark.slow


def test_the_run_ends_in_one_line_and_keeps_its_checkpoint(small, tmp_path, monkeypatch):
    settings = {
        "model": "small",
        "envs": ["FrozenLake-v0"],
        "response_format": "answer",
        "iterations": 3,
        "mini_batch": 4,
        "checkpoint_every": 1,
        "rollouts": {"instances": 2, "samples": 2, "max_tokens": 6},
        "filter": {"strategy": "all"},
        "validation": {"every": 0},
    }
    plain = Actor.rollouts

    def spoilt(actor, iteration, *settings):
        if iteration == 1:
            for weights in actor._loaded.model.parameters():
                weights.data.fill_(math.nan)
        return plain(actor, iteration, *settings)

    recipe = recipe_of(settings, "a test")
    with monkeypatch.context() as patch:
        patch.setattr(Actor, "rollouts", spoilt)
        with pytest.raises(UserError, match="logits are NaN or infinite") as caught:
            train(recipe, small, tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert [path.name for path in (tmp_path / "run/checkpoints").iterdir()] == ["iteration_000001"]
    train(recipe, small, tmp_path / "run")
    assert (tmp_path / "run/final").is_dir()

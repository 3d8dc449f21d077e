"""Two iterations of the small model with each loss and rejection, through the real trainer."""

import json

import pytest

from ragen_starpo.local.train import train
from ragen_starpo.recipes.recipe import recipe_of
from tests.cases import first_fast

SETTINGS = {
    "model": "small",
    "envs": ["FrozenLake-v0"],
    "response_format": "answer",
    "iterations": 2,
    "updates": 3,
    "mini_batch": 8,
    "rollouts": {"instances": 2, "samples": 4, "max_tokens": 6},
    "advantage": {"estimator": "gae"},
    "filter": {"strategy": "all"},
    "optimiser": {"learning_rate": 1e-3},
    "validation": {"every": 0},
    "records": {"every": 0},
}
CASES = {
    "gspo": ({"policy": "gspo", "clip_low": 3e-4, "clip_high": 4e-4}, {}, "clip_fraction"),
    "gspo-turn": (
        {"policy": "gspo", "sequence": "turn", "clip_low": 3e-4, "clip_high": 4e-4},
        {},
        "clip_fraction",
    ),
    "cispo": ({"policy": "cispo", "clip_low": 0.01, "clip_high": 0.01}, {}, "clip_fraction"),
    "clip-cov": (
        {"policy": "clip-cov", "settings": {"fraction": 0.1, "bounds": [0.001, 9.0]}},
        {},
        "covariance_fraction",
    ),
    "kl-cov": ({"policy": "kl-cov", "settings": {"fraction": 0.1}}, {}, "covariance_fraction"),
    "reject": ({}, {"reject": "token", "reject_low": 1, "reject_high": 1}, "rejected"),
}


@pytest.mark.parametrize("name", first_fast(CASES))
def test_a_run_in_which_the_loss_acts(name, small, tmp_path):
    loss, correction, metric = CASES[name]
    train(recipe_of({**SETTINGS, "loss": loss, "correction": correction}, name), small, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    table = "correction" if correction else "policy"
    assert len(lines) == 2
    assert all(line["steps"] for line in lines)
    assert 0 < max(line[f"{table}/{metric}"] for line in lines) < 1

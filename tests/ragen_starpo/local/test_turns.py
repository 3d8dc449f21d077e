"""Two iterations of a warm model with each estimator and selection, through the real trainer."""

import json
import math

import pytest
from safetensors.torch import load_file

from ragen_starpo.local.train import train
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.warm_start import WarmStartSettings, warm_start
from tests.cases import first_fast

SETTINGS = {
    "model": "warm",
    "envs": ["FrozenLake-v0"],
    "response_format": "answer",
    "iterations": 2,
    "mini_batch": 16,
    "rollouts": {"instances": 4, "samples": 4, "max_tokens": 24},
    "advantage": {"estimator": "grpo"},
    "filter": {"strategy": "top-k", "amount": 0.5},
    "optimiser": {"learning_rate": 1e-3},
    "checkpoint_every": 1,
    "validation": {"every": 0},
    "records": {"every": 0},
}
CASES = {
    "refills": ({"rollouts": {"refills": 2}}, "rollout/replaced", 1, 8),
    "gigpo": ({"advantage": {"estimator": "gigpo", "credit": "turn"}}, None, 0, 0),
    "turn-grpo": ({"advantage": {"estimator": "turn-grpo", "credit": "turn"}}, None, 0, 0),
    "hybrid": ({"advantage": {"estimator": "hybrid"}}, None, 0, 0),
    "void": ({"loss": {"mask_void_turns": True}}, "rollout/void", 0.5, 1.0),
    "reweight": (
        {"filter": {"reweight": "variance", "amount": 1.0}},
        "filter/effective",
        0.1,
        0.99,
    ),
    "entropy": ({"filter": {"score": "entropy_variance"}}, "filter/kept", 0.01, 0.5),
}


@pytest.fixture(scope="module")
def warm(small, tmp_path_factory):
    """The small model, which finds the form of an answer and little more."""
    folder = tmp_path_factory.mktemp("warm") / "model"
    demonstrations = WarmStartSettings(
        ("FrozenLake-v0",), "answer", 64, 8, 16, learning_rate=1e-2, max_tokens=24
    )
    warm_start(demonstrations, small, folder)
    return folder


@pytest.fixture(scope="module")
def plain(warm, tmp_path_factory):
    """The weights after a run without any of the settings."""
    return run({}, warm, tmp_path_factory.mktemp("plain"))[1]


def recipe(changed):
    tables = {name: {**SETTINGS.get(name, {}), **table} for name, table in changed.items()}
    return recipe_of({**SETTINGS, **tables}, "a test")


def run(changed, model, out):
    train(recipe(changed), model, out)
    return lines(out), load_file(out / "final/model.safetensors")


def lines(out):
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", first_fast(CASES))
def test_a_setting_changes_the_run_and_its_metric_says_so(name, warm, plain, tmp_path):
    changed, metric, low, high = CASES[name]
    found, weights = run(changed, warm, tmp_path)
    assert len(found) == 2
    assert max(float((weights[key] - plain[key]).abs().max()) for key in plain) > 1e-6
    if metric:
        values = [line[metric] for line in found]
        assert any(low <= value <= high for value in values), values
    written = json.loads((tmp_path / "recipe.json").read_text())
    for table, settings in changed.items():
        assert settings.items() <= written[table].items()


class KilledError(Exception):
    """Stands for a power cut between two iterations."""


@pytest.mark.slow
def test_further_prompts_are_the_same_after_a_resumption(warm, tmp_path):
    changed = {"rollouts": {"refills": 2}, "advantage": {"estimator": "gigpo", "credit": "turn"}}

    def kill(_):
        raise KilledError

    whole, weights = run(changed, warm, tmp_path / "whole")
    out = tmp_path / "killed"
    with pytest.raises(KilledError):
        train(recipe(changed), warm, out, kill)
    # The first iteration's checkpoint was not written yet: it is played again.
    assert run(changed, warm, out)[0] == whole
    assert (out / "final/model.safetensors").read_bytes() == (
        tmp_path / "whole/final/model.safetensors"
    ).read_bytes()
    assert all(map(math.isfinite, whole[1].values()))
    assert weights
    # Their tokens are counted.
    plain = lines(tmp_path / "whole")[0]
    assert plain["rollout/replaced"] > 0

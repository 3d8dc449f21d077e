"""Held-out success is what `ragen-bench evaluate` says of the same model."""

import json

import pytest

from ragen_bench.cli import main as bench
from ragen_starpo.local.validation import validate
from ragen_starpo.recipes.run_sections import ValidationSettings
from ragen_starpo.warm_start import WarmStartSettings, warm_start

pytestmark = pytest.mark.slow

ENVS = ("FrozenLake-v0", "Sokoban-v0")
COUNT, TEMPERATURE, TOKENS = 32, 0.7, 14


@pytest.fixture(scope="module")
def warm(small, tmp_path_factory):
    """A model that fails and succeeds."""
    folder = tmp_path_factory.mktemp("warm") / "model"
    settings = WarmStartSettings(ENVS, "answer", 128, 10, 16, learning_rate=1e-2, max_tokens=TOKENS)
    warm_start(settings, small, folder)
    return folder


def test_validation_is_the_harness(warm, tmp_path):
    settings = ValidationSettings(instances=COUNT, temperature=TEMPERATURE)
    found = validate(warm, ENVS, "answer", TOKENS, settings, 1)
    envs = [part for env in ENVS for part in ("--env", env)]
    asked = [*envs, "--format", "answer", "--split", "val", "--limit", str(COUNT)]
    asked += ["--temperature", str(TEMPERATURE), "--max-tokens", str(TOKENS), "--history", "1"]
    assert bench(["evaluate", f"hf/{warm}", *asked, "--out", str(tmp_path / "run")]) == 0
    told = json.loads((tmp_path / "run/summary.json").read_text())["envs"]
    expected = {}
    for one in told:
        name = one["env"].partition("/")[2]
        low, high = one["success_interval"]
        expected |= {f"{name}/success": one["success"], f"{name}/low": low, f"{name}/high": high}
    shares = [one["success"] for one in told]
    assert found == {"success": sum(shares) / 2, **expected}
    assert 0 < found["success"] < 1

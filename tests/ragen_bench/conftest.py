"""What several tests of the harness need."""

import pytest

from ragen_bench import cache
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.models import resolve


@pytest.fixture
def random_model():
    return resolve("random")


@pytest.fixture
def kept_results(monkeypatch, tmp_path_factory):
    """Share the cache among tests that change no game, such as those of all published entries."""
    folder = str(tmp_path_factory.getbasetemp() / "results")
    monkeypatch.delenv(cache.RECOMPUTE)
    monkeypatch.setenv("RAGEN_CACHE", folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", folder)


@pytest.fixture
def small():
    """A run of 40 random episodes, several groups long."""
    return Evaluation(
        model="random",
        suite="",
        instances={"ragen/Bandit-v0": 20, "ragen/Sokoban-v0": 10, "ragen/FrozenLake-v0": 10},
        split="test",
        response_format="think",
        samples=4,
        seed=0,
        temperature=1.0,
        max_tokens=8,
    )

"""The demo's figures, against ones worked out by hand."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from ragen_starpo.demo import results as module
from ragen_starpo.demo.results import read_results, two_way_interval
from ragen_starpo.demo.stages import MODELS, Game, evaluation_folder

GAME = Game("Sokoban-v0", "demo-sokoban", 8, 2)
PLAYER = {"success": 0.5, "success_interval": [0.4, 0.6]}


class Run:
    def __init__(self, outcomes):
        self._outcomes = outcomes

    def episodes(self):
        for index, samples in enumerate(self._outcomes):
            for success in samples:
                yield SimpleNamespace(index=index, success=success)


@pytest.fixture
def agents(tmp_path, monkeypatch):
    """Return a function that lays down agents with the outcomes of two instances of two samples."""
    runs = {}
    monkeypatch.setattr(module, "read_run", lambda path: Run(runs[path]))

    def lay(*seeds):
        folders = []
        for seed, outcomes in enumerate(seeds):
            folder = tmp_path / str(seed)
            for name, found in zip(MODELS, outcomes, strict=True):
                place = folder / evaluation_folder(name, "val")
                place.mkdir(parents=True)
                envs = [{"random": PLAYER, "oracle": PLAYER}]
                (place / "summary.json").write_text(json.dumps({"envs": envs}))
                runs[place] = found
            folders.append(folder)
        return folders

    return lay


def test_rates_and_gains(agents):
    nothing = [[False, False], [False, False]]
    found = read_results(
        GAME,
        agents(
            (nothing, [[True, False], [False, False]], [[True, True], [True, False]]),
            (nothing, [[True, True], [False, False]], [[True, True], [False, False]]),
            (nothing, [[False, False], [True, False]], [[True, True], [True, True]]),
        ),
        "val",
    )
    assert (found["env"], found["instances"], found["random"]) == ("Sokoban-v0", 2, PLAYER)
    before, warm, trained = found["rows"]
    assert (before["rates"], before["mean"]) == ([0, 0, 0], 0)
    assert warm["rates"] == [0.25, 0.5, 0.25]
    assert trained["rates"] == [0.75, 0.5, 1.0]
    assert trained["mean"] == pytest.approx(0.75)
    gain = found["gain"]
    assert gain["rates"] == [0.5, 0.0, 0.75]
    assert gain["mean"] == pytest.approx(1.25 / 3)
    # The deviation of the three gains, over the root of three, times Student's t for two degrees.
    deviation = math.sqrt(sum((x - 1.25 / 3) ** 2 for x in gain["rates"]) / 2)
    half = 4.302652729911275 * deviation / math.sqrt(3)
    assert gain["seeds_interval"] == pytest.approx((1.25 / 3 - half, 1.25 / 3 + half))
    low, high = gain["interval"]
    assert low < 1.25 / 3 < high
    # Nothing solved of two instances: Wilson's interval begins at 0.
    assert before["interval"][0] == 0 < before["interval"][1] < 1


def test_one_seed_says_nothing_about_seeds(agents):
    outcomes = ([[True], [False]],) * 3
    found = read_results(GAME, agents(outcomes), "val")
    assert found["gain"]["seeds_interval"] is None
    assert found["gain"]["mean"] == 0


def test_both_seeds_and_instances_widen_the_interval():
    noise = np.random.default_rng(5)
    instances = noise.normal(0.1, 1.0, (1, 400))
    seeds = noise.normal(0.0, 0.3, (6, 1))
    # Each alone has the deviation of its mean; together their variances add up.
    alone = [width(np.repeat(instances, 6, axis=0)), width(np.repeat(seeds, 400, axis=1))]
    expected = [2 * 1.96 * instances.std() / 20, 2 * 1.96 * seeds.std() / math.sqrt(6)]
    assert alone == pytest.approx(expected, rel=0.1)
    assert width(instances + seeds) == pytest.approx(math.hypot(*alone), rel=0.1)


def width(values):
    low, high = two_way_interval(values)
    return high - low

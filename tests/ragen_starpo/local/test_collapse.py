"""A run that collapses for real: the monitor warns before the success falls."""

import json
from statistics import fmean

import pytest

from benchmarks.echo_trap import CONSTANT, RISING, fall_of, make_walker, settings
from ragen_starpo.local.train import train
from ragen_starpo.recipes.recipe import recipe_of

pytestmark = pytest.mark.slow


class FallenError(Exception):
    """Ends a run whose success has fallen."""


@pytest.fixture(scope="module")
def walker(tmp_path_factory):
    return make_walker(tmp_path_factory.mktemp("walker"))


def test_a_warning_comes_before_the_success_falls(walker, tmp_path):
    """Vanilla GRPO, all groups kept, at a learning rate that rises until it is far too high."""
    successes = []

    def watch(iteration):
        successes.append(iteration.metrics["rollout/success"])
        if fall_of(successes) is not None:
            raise FallenError

    collapses = recipe_of(settings(RISING, 1, 80), "a test")
    with pytest.raises(FallenError):
        train(collapses, walker, tmp_path / "run", watch)
    # It had learned something, which it lost.
    assert max(fmean(successes[end - 5 : end]) for end in range(5, len(successes))) > 0.6
    early = json.loads((tmp_path / "run/warnings.jsonl").open().readline())
    assert early["kind"] == "early"
    assert early["iteration"] + 3 < fall_of(successes)
    # When it warned, the success was still there.
    assert fmean(successes[early["iteration"] - 4 : early["iteration"] + 1]) > 0.5


def test_a_run_that_learns_is_not_warned_of(walker, tmp_path):
    train(recipe_of(settings(CONSTANT, 1, 40), "a test"), walker, tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").open()]
    successes = [line["rollout/success"] for line in lines]
    assert fmean(successes[-10:]) > fmean(successes[:10]) + 0.05
    assert (tmp_path / "run/warnings.jsonl").read_text() == ""


def test_a_fall_is_half_of_the_peak():
    assert fall_of([0.5] * 5 + [0.2] * 9) == 9
    assert fall_of([0.5] * 5 + [0.3] * 50) is None
    assert fall_of([0.1] * 5) is None
    assert fall_of([0.0] * 5) is None
    assert fall_of([0.4] * 5 + [0.0] * 9) == 7

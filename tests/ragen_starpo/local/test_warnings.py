"""Warnings of real runs, of a monitor that is set to warn of little."""

import json
from dataclasses import asdict

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.diagnostics.monitor import EchoTrapMonitor
from ragen_starpo.local.train import train
from ragen_starpo.recipe import recipe_of

NERVOUS = {"window": 1, "patience": 3, "fall": 0.001, "warm_up": 0, "gradient": 1.001}
SETTINGS = {
    "model": "small",
    "envs": ["FrozenLake-v0"],
    "response_format": "answer",
    "iterations": 8,
    "checkpoint_every": 4,
    "rollouts": {"instances": 2, "samples": 3, "max_tokens": 4},
    "advantage": {"estimator": "grpo"},
    "filter": {"strategy": "all"},
    "loss": {"entropy": -0.5},
    "optimiser": {"learning_rate": 1e-2},
    "validation": {"every": 2, "instances": 2},
    "monitor": NERVOUS,
}


def recipe(**changed):
    return recipe_of({**SETTINGS, **changed}, "a test")


def lines(run, name):
    return [json.loads(line) for line in (run / name).read_text().splitlines()]


class KilledError(Exception):
    """Stands for a power cut between two iterations."""


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "whole"
    said = []
    train(recipe(), small, out, warned=said.append)
    return out, said


def test_warnings_are_told_and_written(whole):
    out, said = whole
    assert {warning.kind for warning in said} == {"early", "confirmed"}
    assert lines(out, "warnings.jsonl") == [asdict(warning) for warning in said]
    monitor = EchoTrapMonitor(recipe().monitor)
    again = [warning for line in lines(out, "metrics.jsonl") for warning in monitor.take(line)]
    assert again == said


def test_a_killed_run_warns_of_the_same(small, whole, tmp_path):
    def kill(iteration):
        if iteration.number == 6:
            raise KilledError

    with pytest.raises(KilledError):
        train(recipe(), small, tmp_path / "run", kill)
    said = []
    train(recipe(), small, tmp_path / "run", warned=said.append)
    assert said == whole[1]
    assert said[0].iteration >= 4  # after the checkpoint, before the power cut
    for name in ("warnings.jsonl", "metrics.jsonl"):
        assert lines(tmp_path / "run", name) == lines(whole[0], name)


def test_a_confirmed_warning_stops_a_run_that_is_told_to(small, whole, tmp_path):
    stops = recipe(monitor={**NERVOUS, "action": "stop"})
    (confirmed,) = [warning for warning in whole[1] if warning.kind == "confirmed"][:1]
    for _ in range(2):  # the same command comes to the same end
        with pytest.raises(UserError, match=r"stopped as the recipe says\. Confirmed in") as ended:
            train(stops, small, tmp_path / "run")
        assert ended.value.exit_code == 1
        assert confirmed.text in str(ended.value)
        assert str(ended.value).endswith(f"The best model so far is in {tmp_path / 'run/best'}")
        assert lines(tmp_path / "run", "metrics.jsonl")[-1]["iteration"] == confirmed.iteration
    assert (tmp_path / "run/best/model.safetensors").is_file()
    assert not (tmp_path / "run/final").exists()

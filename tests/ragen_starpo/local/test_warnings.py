"""Warnings of real runs, of a monitor that is set to warn of little."""

import json

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.diagnostics.monitor import EchoTrapMonitor, TrapWarning
from ragen_starpo.local.train import train
from ragen_starpo.recipes.recipe import recipe_of

pytestmark = pytest.mark.slow

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
    train(recipe(), small, out)
    return out, [TrapWarning(**line) for line in lines(out, "warnings.jsonl")]


def test_warnings_are_written(whole):
    out, said = whole
    assert {warning.kind for warning in said} == {"early", "confirmed"}
    monitor = EchoTrapMonitor(recipe().monitor)
    again = [warning for line in lines(out, "metrics.jsonl") for warning in monitor.take(line)]
    assert again == said


def test_a_killed_run_warns_of_the_same(small, whole, tmp_path):
    def kill(iteration):
        if iteration.number == 6:
            raise KilledError

    with pytest.raises(KilledError):
        train(recipe(), small, tmp_path / "run", kill)
    train(recipe(), small, tmp_path / "run")
    assert whole[1][0].iteration >= 4  # after the checkpoint, before the power cut
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
    # The last model is that of an unstopped run of so many iterations.
    shorter = recipe(iterations=confirmed.iteration + 1)
    train(shorter, small, tmp_path / "shorter")
    weights = [tmp_path / run / "final/model.safetensors" for run in ("run", "shorter")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


ADAPTS = {
    **NERVOUS,
    "patience": 5,
    "action": "adapt",
    "temperature_factor": 1.25,
    "temperature_limit": 1.5,
    "refills": 2,
}
ADAPTED = {"monitor": ADAPTS, "updates": 2}


@pytest.fixture(scope="module")
def adapted(small, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "adapted"
    train(recipe(**ADAPTED), small, out)
    return out


def test_warnings_change_how_the_next_rollouts_are_played(adapted):
    warnings = lines(adapted, "warnings.jsonl")
    played = lines(adapted, "metrics.jsonl")
    assert 0 < warnings[0]["iteration"] < 6
    for line in played:
        so_far = sum(warning["iteration"] < line["iteration"] for warning in warnings)
        assert line["rollout/temperature"] == pytest.approx(min(1.25**so_far, 1.5))
        assert line["updates"] == (1 if so_far else 2)
        assert line["refills"] == (2 if so_far else 0)
        assert so_far or line["rollout/replaced"] == 0
        # Of 6 trajectories a pass over them is one step.
        assert line["steps"] == line["updates"]
        # So the engine samples at the temperature that the trainer computes with.
        if line["updates"] == 1:
            assert line["policy/kl_from_rollouts"] == pytest.approx(0, abs=1e-6)
    assert any(line["rollout/replaced"] for line in played)
    first = warnings[0]
    assert first["changes"] == {
        "rollouts.temperature": {"from": 1.0, "to": 1.25},
        "updates": {"from": 2, "to": 1},
        "rollouts.refills": {"from": 0, "to": 2},
    }
    assert first["text"].endswith(
        f" From iteration {first['iteration'] + 1} on, rollouts.temperature is 1.25 instead of 1 "
        "and updates is 1 instead of 2 and rollouts.refills is 2 instead of 0."
    )


def test_until_the_first_warning_nothing_is_changed(small, adapted, tmp_path):
    unchanged = {**ADAPTED, "monitor": {**ADAPTS, "action": "none", "refills": 0}}
    train(recipe(**unchanged), small, tmp_path / "run")
    first = lines(adapted, "warnings.jsonl")[0]["iteration"]
    found, other = (lines(run, "metrics.jsonl") for run in (adapted, tmp_path / "run"))
    for line in found:
        for name in ("rollout/temperature", "updates", "refills", "rollout/replaced"):
            del line[name]
    assert found[: first + 1] == other[: first + 1]
    assert found[first + 1] != other[first + 1]


def test_a_killed_run_goes_on_adapted(small, adapted, tmp_path):
    """From a checkpoint that is written right after the warning."""

    def kill(iteration):
        if iteration.number == warned + 2:
            raise KilledError

    warned = lines(adapted, "warnings.jsonl")[0]["iteration"]
    changed = {**ADAPTED, "checkpoint_every": warned + 1}
    with pytest.raises(KilledError):
        train(recipe(**changed), small, tmp_path / "run", kill)
    resumed = []
    train(recipe(**changed), small, tmp_path / "run", resumed.append)
    assert resumed[0].number == warned + 1
    for name in ("warnings.jsonl", "metrics.jsonl"):
        assert lines(tmp_path / "run", name) == lines(adapted, name)
    weights = [run / "final/model.safetensors" for run in (tmp_path / "run", adapted)]
    assert weights[0].read_bytes() == weights[1].read_bytes()

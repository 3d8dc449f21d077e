"""Figures of made trajectories."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ragen_starpo.diagnostics.metrics import environment_metrics, rollout_metrics
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn


def made(group, rewards, shaping, env="ragen/Bandit-v0"):
    sampled = Sampled((1, 2), (0.0, 0.0), stopped=True)
    turns = tuple(Turn((5,), sampled, reward + shaping) for reward in rewards)
    recorded = [
        SimpleNamespace(format_is_valid=True, answer="", reasoning="", reward=reward)
        for reward in rewards
    ]
    record = SimpleNamespace(env=env, success=rewards[-1] > 0, turns=recorded)
    return TokenTrajectory(group, turns, record)


def test_shaping_is_what_the_environment_did_not_give():
    found = rollout_metrics([made(0, [0.0, 1.0], -0.25), made(0, [0.5], 0.0)], 1)
    assert found["shaping"] == pytest.approx((-0.5 + 0) / 2)
    assert found["reward"] == pytest.approx((0.5 + 0.5) / 2)
    assert (found["success"], found["turns"]) == (1, 1.5)
    assert rollout_metrics([made(0, [0.25, 0.5], 0.0)], 1)["shaping"] == 0


def test_groups_that_were_left_out_are_counted():
    some = [made(0, [0.5], 0.0), made(0, [1.0], 0.0), made(2, [0.0], 0.0)]
    assert rollout_metrics(some, 4)["failed"] == 2
    assert "failed" not in rollout_metrics(some, 2)


def test_episodes_that_were_begun_anew_are_counted():
    once, twice = (replace(made(0, [0.5], 0.0), begun_anew=times) for times in (1, 2))
    assert rollout_metrics([once, made(1, [0.5], 0.0), twice], 2)["begun_anew"] == 3
    assert "begun_anew" not in rollout_metrics([made(0, [0.5], 0.0)], 1)


def test_each_environment_of_several_has_its_figures():
    played = [
        made(0, [0.0, 1.0], -0.25),
        made(0, [-1.0], 0.0),
        made(1, [3.0], 0.0, "ragen/Sokoban-v0"),
    ]
    envs = ("Bandit-v0", "Sokoban-v0")
    assert environment_metrics(envs, played, {"ragen/Sokoban-v0": 2.0}) == {
        "Bandit-v0/success": 0.5,
        "Bandit-v0/reward": -0.25,
        "Sokoban-v0/success": 1,
        "Sokoban-v0/reward": 3,
        "Sokoban-v0/scale": 2,
    }
    # In an iteration in which one has no turn.
    assert set(environment_metrics(envs, played[:2], {})) == {
        "Bandit-v0/success",
        "Bandit-v0/reward",
    }
    assert environment_metrics(envs[:1], played[:2], {}) == {}

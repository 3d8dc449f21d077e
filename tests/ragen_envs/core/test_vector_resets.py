"""Resets of a vector environment: seeds, masks, and misuse that is refused."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from tests.ragen_envs.vectors import MODES, assert_same, vector


@pytest.mark.parametrize(
    ("actions", "error", "message"),
    [
        (["Up"], ValueError, "3 environments need as many answers, got 1"),
        (["Up"] * 4, ValueError, "3 environments need as many answers, got 4"),
        ("Up!", TypeError, "one str for each environment, got a single str"),
        (["Up", b"Up", None], TypeError, "got bytes for environment 1"),
        (["Up", "Up", None], TypeError, "got NoneType for environment 2"),
        (np.array([0, 1, 2]), TypeError, "got int64 for environment 0"),
    ],
)
def test_bad_answers_are_refused_and_step_nothing(actions, error, message):
    env = vector(response_format="plain")
    env.reset(seed=0)
    with pytest.raises(error, match=message):
        env.step(actions)
    assert env.step(["Up"] * 3)[4]["turn"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("mode", MODES)
def test_step_needs_a_reset_of_all(mode):
    env = vector(mode=mode)
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before step\(\)"):
        env.step(["Up"] * 3)
    with pytest.raises(ResetNeeded, match=r"first reset\(\) is of all environments"):
        env.reset(options={"reset_mask": np.array([True, False, True])})
    env.reset(options={"reset_mask": np.array([True, True, True])})
    env.step(["Up"] * 3)


def test_a_disabled_autoreset_says_which_are_over():
    env = vector("ragen/Bandit-v0", 3, AutoresetMode.DISABLED, response_format="plain")
    env.reset(seed=0)
    env.step(["x", "y", "z"])
    only = np.array([False, True, False])
    env.reset(seed=[None, 5, None], options={"reset_mask": only})
    with pytest.raises(ResetNeeded, match=r"environments \[0, 2\] are over: call reset\(options="):
        env.step(["x", "y", "z"])
    options = {"reset_mask": ~only}
    env.reset(options=options)
    assert list(options) == ["reset_mask"]  # Gymnasium's would take it out
    env.step(["x", "y", "z"])


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"seed": [1, 2]}, ValueError, "3 environments need as many seeds, got 2"),
        ({"seed": True}, ValueError, "a seed is an int of at least 0, got True"),
        ({"seed": [1, 2, True]}, ValueError, "a seed is an int of at least 0, got True"),
        ({"seed": 1 << 63}, ValueError, r"seeds are below 2\*\*63"),
        ({"seed": -9}, gymnasium.error.Error, "a seed is an int of at least 0, got -9"),
        ({"seed": [5, 6, -1]}, gymnasium.error.Error, "a seed is an int of at least 0, got -1"),
        ({"seed": "abc"}, gymnasium.error.Error, "a seed is an int of at least 0, got 'abc'"),
        ({"seed": np.array(5.0)}, gymnasium.error.Error, "a seed is an int of at least 0"),
        ({"options": "abc"}, TypeError, "the options of reset are a dictionary, got 'abc'"),
        ({"options": []}, TypeError, r"the options of reset are a dictionary, got \[\]"),
        ({"options": {"level": 1}}, ValueError, r"unknown reset options \['level'\]; there are"),
        (
            {"options": {"noise_seed": -1}},
            ValueError,
            "'noise_seed' is an int of at least 0, got -1",
        ),
        ({"seed": 5, "options": {"noise_seed": [1, 2, "3"]}}, ValueError, "at least 0, got '3'"),
        ({"options": {"noise_seed": [1, 2]}}, ValueError, "need as many noise seeds, got 2"),
        ({"options": {"noise_seed": []}}, ValueError, "need as many noise seeds, got 0"),
        ({"options": {"reset_mask": [True] * 3}}, TypeError, "'reset_mask' is an array of bool"),
        ({"options": {"reset_mask": np.ones(3)}}, TypeError, "'reset_mask' is an array of bool"),
        ({"options": {"reset_mask": np.ones(2, bool)}}, ValueError, r"has shape \(3,\)"),
        ({"options": {"reset_mask": np.zeros(3, bool)}}, ValueError, "at least one True"),
    ],
)
def test_bad_resets_say_what_is_possible_and_reset_nothing(kwargs, error, message):
    env, twin = (vector(response_format="plain") for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(error, match=message):
        env.reset(**kwargs)
    assert_same(env.step(["Up", "Down", "Left"]), twin.step(["Up", "Down", "Left"]))
    assert_same(env.reset(), twin.reset())


def test_after_a_reset_that_failed_midway_nothing_is_played(monkeypatch):
    env = vector(response_format="plain")
    env.reset(seed=0)
    monkeypatch.setattr(env.envs[1], "get_instance", lambda seed: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        env.reset(seed=7)
    monkeypatch.undo()
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before step\(\)"):
        env.step(["Up"] * 3)
    assert_same(env.reset(seed=7), vector(response_format="plain").reset(seed=7))


@pytest.mark.parametrize(
    "seed",
    [
        np.int64(4),
        (4, 5, 6),
        np.array([4, 5, 6]),
        range(4, 7),
        [np.uint8(4), 5, np.int64(6)],
    ],
)
def test_seeds_of_numpy_and_of_sequences(seed):
    env = vector()
    assert_same(env.reset(seed=seed), env.reset(seed=4))


def test_seeds_and_rollouts_of_one_environment_each():
    env = vector("ragen/FrozenLake-v0", 4, split="val", response_format="plain")
    rollouts = [np.int64(0), 1, 0, np.uint8(0)]
    expected = env.reset(seed=[3, 3, 9, 3], options={"noise_seed": rollouts})
    _, infos = env.reset(seed=[3, 3, 9, 3], options={"noise_seed": np.array([0, 1, 0, 0])})
    assert_same(infos, expected[1])
    assert infos["index"].tolist() == [3, 3, 9, 3]
    assert len(set(infos["instance"].tolist())) == 2
    assert infos["_index"].all()
    told = env.step(["Up || Up || Up || Up"] * 4)[0]
    assert told[0] == told[3]


def test_a_masked_reset_leaves_the_others():
    env = vector(
        "ragen/Sokoban-v0", 3, AutoresetMode.DISABLED, split="val", response_format="plain"
    )
    before, _ = env.reset(seed=0)
    stepped = env.step(["Up", "Down", "Left"])[0]
    after, infos = env.reset(seed=0, options={"reset_mask": np.array([False, True, False])})
    assert after == (stepped[0], before[1], stepped[2])
    assert infos["instance"].tolist()[::2] == [None, None]
    assert infos["_turn"].tolist() == [False, True, False]
    assert env.step(["Up"] * 3)[4]["turn"].tolist() == [2, 1, 2]

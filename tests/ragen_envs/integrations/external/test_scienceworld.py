"""ScienceWorld's tasks, in its own Java machine."""

import shutil

import pytest

pytest.importorskip("scienceworld", reason="needs pip install '.[scienceworld]'")
if shutil.which("java") is None:
    pytest.skip("ScienceWorld needs Java", allow_module_level=True)

from ragen_envs.integrations import external
from ragen_envs.integrations.external.scienceworld import find_variations

pytestmark = pytest.mark.slow
TASK = "lifespan-longest-lived"
ID = f"scienceworld:{TASK}"


def test_the_gold_path_wins_and_another_simulation_does_not_disturb_it():
    env, other = external.make(ID, "test"), external.make(ID, "val")
    first, info = env.reset(seed=0)
    assert "Your task is to find the animal with the longest life span" in first
    assert info["instance"] == f"{TASK} {find_variations(TASK, 'test')[0]}"
    rewards, ended = [], False
    while not ended:
        other.reset(seed=1)
        _, reward, terminated, truncated, info = env.step(*env.unwrapped.best_actions())
        rewards.append(reward)
        ended = terminated or truncated
    assert (sum(rewards), info["success"]) == (pytest.approx(1), True)


def play(env, seed, turns, beside=None):
    """Follow the gold path of an instance; another simulation may start in between."""
    results = [env.reset(seed=seed)]
    for turn in range(turns):
        results.append(env.step(*env.unwrapped.best_actions()))
        if beside and turn % 4 == 0:
            beside.reset(seed=turn)
    return results


def test_electricity_flows_in_the_same_order_in_each_play():
    """By itself, ScienceWorld powers the component of this task a turn earlier or later."""
    env = external.make("scienceworld:power-component", "test")
    episode = play(env, 0, 6)
    assert episode[-1][4]["success"]
    assert [play(env, 0, 6) == episode for _ in range(5)] == [True] * 5


def test_another_simulation_does_not_disturb_an_episode():
    """By itself, ScienceWorld counts the objects of all simulations of a process together."""
    env, other = (external.make("scienceworld:grow-plant") for _ in range(2))
    assert play(env, 2, 24) == play(env, 2, 24, other)


def test_a_wrong_focus_ends_the_episode_without_points():
    env = external.make(ID)
    env.reset(seed=0)
    assert "look around" in env.unwrapped.legal_actions
    assert env.step("sing a song")[4]["action_is_valid"] is False
    *_, terminated, truncated, info = env.step("<answer>focus on agent</answer>")
    assert (terminated, truncated, info["score"], info["action_is_valid"]) == (True, False, 0, True)


def test_the_splits_are_those_of_scienceworld():
    lists = [find_variations(TASK, split) for split in ("train", "val", "test")]
    assert [len(variations) for variations in lists] == [62, 31, 32]
    assert len(set().union(*lists)) == 125
    assert external.make(ID).unwrapped.held_out_size == 31
    env = external.make(ID)
    assert env.reset(seed=62)[1]["instance"] == env.reset(seed=0)[1]["instance"]

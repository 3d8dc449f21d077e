"""TextWorld's challenges; TextWorld takes a minute to install, so it is not in `dev`."""

import pytest

pytest.importorskip("textworld", reason="needs pip install '.[textworld]'")

from ragen_envs.integrations import external

pytestmark = pytest.mark.slow
ID = "textworld:treasure_hunter"


def play(env, commands):
    return [env.step(f"I think.\n<answer>{command}</answer>") for command in commands]


def test_the_winning_policy_earns_all_points():
    env = external.make(ID, "test")
    first, info = env.reset(seed=0)
    assert "$$" not in first
    assert first.endswith("such as <answer>look</answer>.")
    assert (info["score"], info["success"]) == (0.0, False)
    rewards, ended = [], False
    while not ended:
        (command,) = env.unwrapped.best_actions()
        assert command in env.unwrapped.legal_actions
        _, reward, terminated, truncated, info = env.step(command)
        rewards.append(reward)
        ended = terminated or truncated
    assert (sum(rewards), info["score"], info["success"]) == (1.0, 1.0, True)
    assert env.unwrapped.legal_actions == ()


def test_an_episode_repeats_and_odd_commands_change_nothing():
    env = external.make(ID, "train")
    odd = ("look", "\0look\n", "", "x" * 5000, "quit", "restart", "undo", "jump")
    odd += ("\\boxed{look}", "look\\")
    episodes = []
    for _ in range(2):
        first = env.reset(seed=0)
        episodes.append([first, *play(env, odd)])
    assert episodes[0] == episodes[1]
    valid = [result[4]["action_is_valid"] for result in episodes[0][1:]]
    assert valid[:4] == [True, True, False, False]
    assert all(result[1] == 0 for result in episodes[0][1:])


def test_splits_share_no_game():
    names = {}
    for split in ("train", "val", "test"):
        env = external.make(ID, split)
        names[split] = {env.reset(seed=seed)[1]["instance"] for seed in range(2)}
    assert len(set.union(*names.values())) == sum(map(len, names.values()))

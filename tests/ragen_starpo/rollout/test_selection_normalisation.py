"""Rewards of a mixture's environments in units of their own."""

from types import SimpleNamespace

import pytest

from ragen_starpo.recipes.sections import MixtureSettings
from ragen_starpo.rollout.selection import find_reward_scales, scale_rewards
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn

BANDIT, LAKE = "ragen/Bandit-v0", "ragen/FrozenLake-v0"


def made(env, *rewards, group=0):
    sampled = Sampled((1, 2), (0.0, 0.0), stopped=True)
    turns = tuple(Turn((5,), sampled, reward) for reward in rewards)
    return TokenTrajectory(group, turns, SimpleNamespace(env=env))


def rewards(trajectories):
    return [[turn.reward for turn in row.turns] for row in trajectories]


PLAYED = [
    made(BANDIT, 10.0, group=0),
    made(LAKE, 0.25, 0.25, group=1),
    made(BANDIT, 20.0, 10.0, group=2),
    made(LAKE, 1.0, group=3),
]


def test_a_deviation_is_that_of_all_returns_of_an_environment():
    """Also across groups; it is the unbiased one."""
    scales = find_reward_scales(MixtureSettings(normalise="deviation"), PLAYED)
    assert scales == pytest.approx({BANDIT: 20 / 2**0.5, LAKE: 0.5 / 2**0.5})
    found = scale_rewards(PLAYED[:3], scales)
    assert rewards(found)[0] == pytest.approx([2**-0.5])
    assert rewards(found)[2] == pytest.approx([2**0.5, 2**-0.5])
    assert rewards(found)[1] == pytest.approx([2**-0.5, 2**-0.5])
    assert find_reward_scales(
        MixtureSettings(normalise="deviation"), scale_rewards(PLAYED, scales)
    ) == (pytest.approx({BANDIT: 1, LAKE: 1}))


def test_returns_that_do_not_differ_stay():
    same = [made(BANDIT, 0.1, 0.2), made(BANDIT, 0.3), made(LAKE, 7.0)]
    scales = find_reward_scales(MixtureSettings(normalise="deviation"), same)
    assert scales == {BANDIT: 1, LAKE: 1}
    assert scale_rewards(same, scales) == same


def test_scales_are_given_by_the_recipes_names():
    scales = find_reward_scales(
        MixtureSettings(normalise="scales", scales={"Bandit-v0": 10}), PLAYED
    )
    assert scales == {BANDIT: 10}
    assert rewards(scale_rewards(PLAYED, scales)) == [[1], [0.25, 0.25], [2, 1], [1]]


def test_nothing_is_divided_by_default():
    assert find_reward_scales(MixtureSettings(), PLAYED) == {}
    assert scale_rewards(PLAYED, {}) == PLAYED

"""Returns of trajectories, and the tensors that are made of them."""

import itertools

import pytest
import torch

from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn, batch_of, scores_of


def trajectory(*rewards, group=0):
    turns = tuple(Turn((1, 2), Sampled((3,), (-1.0,), True), reward) for reward in rewards)
    return TokenTrajectory(group, turns, {})


def test_returns_are_equal_whatever_order_their_rewards_come_in():
    rewards = (10.0, -0.1, -0.1, -0.1, 1.0, 0.3)
    found = {trajectory(*order).score for order in itertools.permutations(rewards)}
    assert found == {11.0}
    assert trajectory(0.1, 0.2, -0.3).score == 0.0
    assert trajectory(0.25, 1e-5).score == pytest.approx(0.25001)


def test_scores_are_not_rounded_to_32_bits():
    played = [trajectory(10.8), trajectory(10.7, group=1)]
    for scores in (scores_of(played), batch_of(played, 0).scores):
        assert scores.dtype == torch.float64
        assert scores.tolist() == [10.8, 10.7]

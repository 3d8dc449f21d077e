"""Credit: place the rewards of turns or of a whole trajectory on tokens.

`turns` and `mask` are (trajectories, tokens): the number of each token's turn, which never falls
along a trajectory, and 1 on sampled tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor


def find_turn_ends(turns: Tensor, mask: Tensor) -> Tensor:
    """Return a mask of each turn's last sampled token, (trajectories, tokens)."""
    is_sampled = mask.bool()
    next_turn = torch.full_like(turns, -1)
    later = torch.full_like(turns[:, 0], -1)
    for token in reversed(range(turns.shape[1])):
        next_turn[:, token] = later
        later = torch.where(is_sampled[:, token], turns[:, token], later)
    return is_sampled & (next_turn != turns)


def place_on_turn_ends(turn_rewards: Tensor, turns: Tensor, mask: Tensor) -> Tensor:
    """Place each turn's reward on its last sampled token: turn-wise credit.

    Args:
        turn_rewards: (trajectories, turns) rewards.
        turns: Turn of each token, from 0.
        mask: 1 on sampled tokens.

    Returns:
        (trajectories, tokens) rewards, 0 on all other tokens.
    """
    ends = find_turn_ends(turns, mask)
    rewards = torch.gather(turn_rewards, 1, turns.clamp(0, turn_rewards.shape[1] - 1))
    return torch.where(ends, rewards, 0.0)


def place_on_last_token(scores: Tensor, mask: Tensor) -> Tensor:
    """Place each trajectory's return, (trajectories,), on its last sampled token."""
    is_sampled = mask.bool()
    is_last = is_sampled & (is_sampled.flip(1).cumsum(1).flip(1) == 1)
    return torch.where(is_last, scores[:, None], 0.0)

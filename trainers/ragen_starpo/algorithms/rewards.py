"""Credit: rewards of turns or of a whole trajectory, placed on its tokens."""

from __future__ import annotations

import torch
from torch import Tensor


def turn_ends(turns: Tensor, mask: Tensor) -> Tensor:
    """Return a mask of each turn's last sampled token, (trajectories, tokens).

    Args:
        turns: (trajectories, tokens) the number of the turn that a token belongs to, never falling
            along a trajectory.
        mask: (trajectories, tokens) 1 on sampled tokens.
    """
    sampled = mask.bool()
    following = torch.full_like(turns, -1)
    later = torch.full_like(turns[:, 0], -1)
    for token in reversed(range(turns.shape[1])):
        following[:, token] = later
        later = torch.where(sampled[:, token], turns[:, token], later)
    return sampled & (following != turns)


def on_turn_ends(turn_rewards: Tensor, turns: Tensor, mask: Tensor) -> Tensor:
    """Put each turn's reward on its last sampled token: turn-wise credit.

    Args:
        turn_rewards: (trajectories, turns).
        turns: (trajectories, tokens) turn of each token, from 0 on.
        mask: (trajectories, tokens) 1 on sampled tokens.

    Returns:
        (trajectories, tokens) rewards, 0 on all other tokens.
    """
    ends = turn_ends(turns, mask)
    spread = torch.gather(turn_rewards, 1, turns.clamp(0, turn_rewards.shape[1] - 1))
    return torch.where(ends, spread, 0.0)


def on_last_token(scores: Tensor, mask: Tensor) -> Tensor:
    """Put a trajectory's return on its last sampled token.

    Args:
        scores: (trajectories,).
        mask: (trajectories, tokens) 1 on sampled tokens.
    """
    sampled = mask.bool()
    last = sampled & (sampled.flip(1).cumsum(1).flip(1) == 1)
    return torch.where(last, scores[:, None], 0.0)

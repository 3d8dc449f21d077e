"""Advantage estimators, and the placement of rewards on tokens.

Shapes: `mask`, `rewards`, `values` and all results are (trajectories, tokens). `mask` is 1 on
sampled tokens. Tokens of observations stand between them and are skipped, so a turn's last token is
followed by the next turn's first. Advantages are 0 where the mask is 0. Estimators that compare the
returns of a group compute in 64 bits, and give 0 where returns differ by rounding alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragen_starpo.algorithms.masked import (
    center_in_groups,
    group_index,
    group_sizes,
    group_std,
    masked_whiten,
)
from ragen_starpo.algorithms.registry import estimator

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    from ragen_starpo.algorithms.lazy_torch import Tensor, torch


@estimator("gae", critic=True)
def token_gae(
    rewards: Tensor, values: Tensor, mask: Tensor, gamma: float = 1.0, lam: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimation over the sampled tokens (Schulman et al. 2016, eq. 16).

    Args:
        rewards: Rewards of tokens, 0 on most.
        values: The critic's values.
        mask: 1 on sampled tokens.
        gamma: Discount per token.
        lam: The lambda of GAE, the weight of longer returns.

    Returns:
        Advantages, whitened over all sampled tokens, and returns for the critic.
    """
    advantages = _gae(rewards, values, mask.bool(), gamma, lam, _no_ends(mask))
    return masked_whiten(advantages, mask), advantages + values


@estimator("bi-level-gae", critic=True, credit="turn")
def bi_level_gae(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    ends: Tensor,
    *,
    gamma_turn: float = 0.95,
    gamma: float = 1.0,
    lam: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """GAE over turns, then over the tokens of each turn (RAGEN, arXiv 2504.20073).

    First, the last tokens of turns are the steps of a short episode, discounted with `gamma_turn`.
    Then the tokens of each turn are an episode with one reward: the turn's return, on its last
    token.

    Args:
        rewards: Rewards of tokens; each turn's on its last token.
        values: The critic's values.
        mask: 1 on sampled tokens.
        ends: 1 on each turn's last sampled token, see `find_turn_ends`. Rewards do not show them,
            since a turn's reward may be 0.
        gamma_turn: Discount per turn.
        gamma: Discount per token.
        lam: The lambda of GAE at both levels.

    Returns:
        Advantages, whitened over all sampled tokens, and returns for the critic.
    """
    ends = ends.bool() & mask.bool()
    turn_advantages = _gae(rewards, values, ends, gamma_turn, lam, _no_ends(mask))
    turn_returns = torch.where(ends, turn_advantages + values, 0.0)
    token_rewards = torch.where(ends, turn_returns, rewards)
    advantages = _gae(token_rewards, values, mask.bool(), gamma, lam, ends)
    return masked_whiten(advantages, mask), advantages + values


@estimator("grpo", whole_returns=True)
def grpo(
    scores: Tensor, groups: Tensor, mask: Tensor, normalize_std: bool = True, eps: float = 1e-6
) -> Tensor:
    """Returns relative to the group's mean (GRPO, arXiv 2402.03300, section 4.1).

    A group of one keeps its return.

    Args:
        scores: (trajectories,) returns.
        groups: (trajectories,) number of the instance.
        mask: 1 on sampled tokens.
        normalize_std: Divide advantages by the group's standard deviation.
        eps: Added to the standard deviation.
    """
    index, count = group_index(groups)
    is_alone = (group_sizes(index, count) == 1)[index]
    advantages = torch.where(is_alone, scores.double(), center_in_groups(scores, index, count))
    if normalize_std:
        std = torch.where(is_alone, 1.0, group_std(scores, index, count)[index])
        advantages = advantages / (std + eps)
    return _spread(advantages, mask)


@estimator("dr-grpo", whole_returns=True)
def dr_grpo(scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    """GRPO without the division by the standard deviation (Dr.GRPO, arXiv 2503.20783).

    The division favours instances that are nearly always or never solved.
    """
    return grpo(scores, groups, mask, normalize_std=False)


@estimator("rloo", whole_returns=True)
def rloo(scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    """Returns minus the mean return of the other rollouts (RLOO, arXiv 2402.14740, section 3).

    A group of one keeps its return.

    Args:
        scores: (trajectories,) returns.
        groups: (trajectories,) number of the instance.
        mask: 1 on sampled tokens.
    """
    index, count = group_index(groups)
    size = group_sizes(index, count)[index]
    advantages = center_in_groups(scores, index, count) * size / (size - 1).clamp(min=1)
    return _spread(torch.where(size > 1, advantages, scores.double()), mask)


@estimator("reinforce-plus-plus")
def reinforce_plus_plus(rewards: Tensor, mask: Tensor, gamma: float = 1.0) -> tuple[Tensor, Tensor]:
    """Discounted returns of tokens, whitened over the batch (REINFORCE++, arXiv 2501.03262).

    Args:
        rewards: Rewards of tokens, minus a KL penalty if there is one.
        mask: 1 on sampled tokens.
        gamma: Discount per token.

    Returns:
        Advantages and returns.
    """
    returns = _gae(rewards, torch.zeros_like(rewards), mask.bool(), gamma, 1.0, _no_ends(mask))
    return masked_whiten(returns, mask), returns


@estimator("reinforce-plus-plus-baseline", whole_returns=True)
def reinforce_plus_plus_baseline(scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    """Returns minus the group's mean, whitened over the batch's tokens (arXiv 2501.03262).

    A group of one keeps its return before whitening.

    Args:
        scores: (trajectories,) returns.
        groups: (trajectories,) number of the instance.
        mask: 1 on sampled tokens.
    """
    return masked_whiten(grpo(scores, groups, mask, normalize_std=False), mask)


def find_turn_ends(turns: Tensor, mask: Tensor) -> Tensor:
    """Return a mask of each turn's last sampled token, given the non-decreasing turns of tokens."""
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


def _gae(
    rewards: Tensor, values: Tensor, steps: Tensor, gamma: float, lam: float, ends: Tensor
) -> Tensor:
    """Return advantages of the tokens in `steps`; episodes stop at `ends`."""
    advantages = torch.zeros_like(values)
    next_advantage = torch.zeros_like(values[:, 0])
    next_value = torch.zeros_like(values[:, 0])
    for token in reversed(range(values.shape[1])):
        is_step, is_end = steps[:, token], ends[:, token]
        next_value = torch.where(is_end, 0.0, next_value)
        next_advantage = torch.where(is_end, 0.0, next_advantage)
        delta = rewards[:, token] + gamma * next_value - values[:, token]
        advantage = delta + gamma * lam * next_advantage
        advantages[:, token] = torch.where(is_step, advantage, 0.0)
        next_advantage = torch.where(is_step, advantage, next_advantage)
        next_value = torch.where(is_step, values[:, token], next_value)
    return advantages


def _no_ends(mask: Tensor) -> Tensor:
    return torch.zeros_like(mask, dtype=torch.bool)


def _spread(advantages: Tensor, mask: Tensor) -> Tensor:
    """Give each trajectory's advantage to its sampled tokens."""
    return torch.where(mask.bool(), advantages[:, None], 0.0)

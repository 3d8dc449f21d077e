"""Advantages of trajectories and of tokens.

Shapes: `mask`, `rewards`, `values` and all results are (trajectories, tokens). `mask` is 1 on the
tokens that the model sampled; those of observations stand between them and are passed over, so a
turn's last token is followed by the next turn's first. Advantages are 0 where the mask is. Those
that compare the returns of a group are in 64 bits, and 0 where returns differ by rounding alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ragen_starpo.algorithms.masked import (
    group_centred,
    group_deviation,
    group_index,
    group_sizes,
    masked_whiten,
)


def token_gae(
    rewards: Tensor, values: Tensor, mask: Tensor, gamma: float = 1.0, lam: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimation over the sampled tokens (Schulman et al. 2016, eq. 16).

    Args:
        rewards: on the tokens, 0 where none is given.
        values: of the critic.
        mask: 1 on sampled tokens.
        gamma: discount a token.
        lam: lambda, the weight of longer returns.

    Returns:
        Advantages, whitened over all sampled tokens, and returns, which the critic learns.
    """
    advantages = _gae(rewards, values, mask.bool(), gamma, lam, _no_end(mask))
    return masked_whiten(advantages, mask), advantages + values


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
    """GAE over turns, then inside each turn over its tokens (RAGEN, arXiv 2504.20073).

    First the turns: their last tokens are the steps of a short episode, discounted with
    `gamma_turn`. Then the tokens of each turn are an episode of their own, whose reward is the
    turn's return, on its last token.

    Args:
        rewards: on the tokens; each turn's on its last token.
        values: of the critic.
        mask: 1 on sampled tokens.
        ends: 1 on each turn's last sampled token, see `ragen_starpo.algorithms.rewards.turn_ends`.
            They cannot be read off the rewards: a turn may have none.
        gamma_turn: discount a turn.
        gamma: discount a token.
        lam: lambda of both levels.

    Returns:
        Advantages, whitened over all sampled tokens, and returns, which the critic learns.
    """
    last = ends.bool() & mask.bool()
    of_turns = _gae(rewards, values, last, gamma_turn, lam, _no_end(mask))
    turn_returns = torch.where(last, of_turns + values, 0.0)
    inner = torch.where(last, turn_returns, rewards)
    advantages = _gae(inner, values, mask.bool(), gamma, lam, last)
    return masked_whiten(advantages, mask), advantages + values


def grpo(
    scores: Tensor, groups: Tensor, mask: Tensor, by_deviation: bool = True, eps: float = 1e-6
) -> Tensor:
    """Returns relative to those of the same instance (GRPO, arXiv 2402.03300, section 4.1).

    A group of one has no peers, and its return stays as it is.

    Args:
        scores: (trajectories,) returns.
        groups: (trajectories,) equal for rollouts of the same instance.
        mask: 1 on sampled tokens.
        by_deviation: whether to divide by the group's deviation; Dr.GRPO (arXiv 2503.20783) does
            not, since it favours instances that are nearly always or never solved.
        eps: added to the deviation.
    """
    index, count = group_index(groups)
    alone = (group_sizes(index, count) == 1)[index]
    centred = torch.where(alone, scores.double(), group_centred(scores, index, count))
    if by_deviation:
        deviation = torch.where(alone, 1.0, group_deviation(scores, index, count)[index])
        centred = centred / (deviation + eps)
    return _on_tokens(centred, mask)


def rloo(scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    """Returns less the mean return of the other rollouts (RLOO, arXiv 2402.14740, section 3).

    A group of one has no others, and its return stays as it is.

    Args:
        scores: (trajectories,) returns.
        groups: (trajectories,) equal for rollouts of the same instance.
        mask: 1 on sampled tokens.
    """
    index, count = group_index(groups)
    size = group_sizes(index, count)[index]
    beyond = group_centred(scores, index, count) * size / (size - 1).clamp(min=1)
    return _on_tokens(torch.where(size > 1, beyond, scores.double()), mask)


def reinforce_plus_plus(rewards: Tensor, mask: Tensor, gamma: float = 1.0) -> tuple[Tensor, Tensor]:
    """Discounted returns of tokens, whitened over the whole batch (arXiv 2501.03262).

    Args:
        rewards: on the tokens, with a KL penalty where one is wanted.
        mask: 1 on sampled tokens.
        gamma: discount a token.

    Returns:
        Advantages and returns.
    """
    returns = _gae(rewards, torch.zeros_like(rewards), mask.bool(), gamma, 1.0, _no_end(mask))
    return masked_whiten(returns, mask), returns


def _gae(
    rewards: Tensor, values: Tensor, steps: Tensor, gamma: float, lam: float, ends: Tensor
) -> Tensor:
    """Return advantages of the tokens that are steps; 0 elsewhere.

    Nothing flows back over an end, nor out of the last step.
    """
    advantages = torch.zeros_like(values)
    following = torch.zeros_like(values[:, 0])
    next_value = torch.zeros_like(values[:, 0])
    for token in reversed(range(values.shape[1])):
        is_step, is_end = steps[:, token], ends[:, token]
        next_value = torch.where(is_end, 0.0, next_value)
        following = torch.where(is_end, 0.0, following)
        delta = rewards[:, token] + gamma * next_value - values[:, token]
        advantage = delta + gamma * lam * following
        advantages[:, token] = torch.where(is_step, advantage, 0.0)
        following = torch.where(is_step, advantage, following)
        next_value = torch.where(is_step, values[:, token], next_value)
    return advantages


def _no_end(mask: Tensor) -> Tensor:
    return torch.zeros_like(mask, dtype=torch.bool)


def _on_tokens(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask.bool(), scores[:, None], 0.0)

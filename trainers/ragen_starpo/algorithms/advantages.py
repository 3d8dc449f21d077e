"""Advantage estimators, and the placement of rewards on tokens.

Shapes: `mask`, `rewards`, `values` and all results are (trajectories, tokens). `mask` is 1 on
sampled tokens. Tokens of observations stand between them and are skipped, so a turn's last token is
followed by the next turn's first. Advantages are 0 where the mask is 0. No shape depends on values,
so `torch.vmap` can run an estimator for many seeds at once.

`rewards` are of tokens and 0 on most, `values` are the critic's. `turns` is the turn of each token,
from 0, and `turn_rewards` are (trajectories, turns). `gamma` is the discount per token, and `lam`
the lambda of GAE, the weight of longer returns.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from ragen_starpo.algorithms.group_advantages import grpo, spread_turns
from ragen_starpo.algorithms.lazy_torch import Tensor, torch
from ragen_starpo.algorithms.masked import masked_whiten
from ragen_starpo.algorithms.registry import estimator

Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]


@estimator(
    "gae",
    critic=True,
    formula="sum over later tokens k of (`gamma` `lam`)^k (r + `gamma` V_next - V); whitened",
    paper="1506.02438",
    verl="gae",
)
def token_gae(
    rewards: Tensor, values: Tensor, mask: Tensor, gamma: float = 1.0, lam: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimation over the sampled tokens (Schulman et al. 2016, eq. 16).

    Returns advantages, whitened over all sampled tokens, and returns for the critic.
    """
    advantages = _gae(rewards, values, mask.bool(), gamma, lam, _no_ends(mask))
    return masked_whiten(advantages, mask), advantages + values


@estimator(
    "bi-level-gae",
    critic=True,
    credit="turn",
    formula="gae over turns with `gamma_turn`, then over the tokens of each turn; whitened",
    paper="2510.16907",
)
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
    """GAE over turns, then over the tokens of each turn (VAGEN, arXiv 2510.16907).

    First, the last tokens of turns are the steps of a short episode, discounted with `gamma_turn`.
    Then the tokens of each turn are an episode with one reward: the turn's return, on its last
    token. `ends` are those of `find_turn_ends`, as a turn's reward may be 0; `lam` is that of both
    levels. Returns advantages, whitened over all sampled tokens, and returns for the critic.
    """
    ends = ends.bool() & mask.bool()
    turn_advantages = _gae(rewards, values, ends, gamma_turn, lam, _no_ends(mask))
    turn_returns = torch.where(ends, turn_advantages + values, 0.0)
    token_rewards = torch.where(ends, turn_returns, rewards)
    advantages = _gae(token_rewards, values, mask.bool(), gamma, lam, ends)
    return masked_whiten(advantages, mask), advantages + values


@estimator(
    "reinforce-plus-plus",
    formula="discounted return of the token; whitened",
    paper="2501.03262",
    verl="reinforce_plus_plus",
)
def reinforce_plus_plus(rewards: Tensor, mask: Tensor, gamma: float = 1.0) -> tuple[Tensor, Tensor]:
    """Discounted returns of tokens, whitened over the batch (REINFORCE++, arXiv 2501.03262).

    Rewards are minus a KL penalty if there is one. Returns advantages and returns.
    """
    returns = _gae(rewards, torch.zeros_like(rewards), mask.bool(), gamma, 1.0, _no_ends(mask))
    return masked_whiten(returns, mask), returns


@estimator(
    "hybrid",
    critic=True,
    formula="(1 - `group_weight`) gae + `group_weight` (R - mean R); whitened",
)
def hybrid(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    scores: Tensor,
    groups: Tensor,
    *,
    gamma: float = 1.0,
    lam: float = 1.0,
    group_weight: Fraction = 0.5,
) -> tuple[Tensor, Tensor]:
    """Mix GAE with returns relative to the group's mean.

    (1 - w) GAE + w (R - mean R), whitened over the batch. With gamma and lambda 1 that is one
    return minus a mixed baseline: (1 - w) times the critic's value plus w times the group's mean.
    `gae` has w = 0, and `reinforce-plus-plus-baseline` w = 1. A group of one keeps its return.
    `group_weight` is w. Also returns the returns for the critic.
    """
    advantages = _gae(rewards, values, mask.bool(), gamma, lam, _no_ends(mask))
    relative = grpo(scores, groups, mask, normalize_std=False)
    mixed = (1 - group_weight) * advantages + group_weight * relative
    return masked_whiten(mixed, mask).to(values.dtype), advantages + values


def find_turn_ends(turns: Tensor, mask: Tensor) -> Tensor:
    """Return a mask of each turn's last sampled token, given the non-decreasing turns of tokens."""
    is_sampled = mask.bool()
    no_turn = torch.iinfo(turns.dtype).max
    sampled = torch.where(is_sampled, turns, no_turn)
    later = torch.cat([sampled[:, 1:], torch.full_like(sampled[:, :1], no_turn)], 1)
    next_turn = later.flip(1).cummin(1).values.flip(1)
    return is_sampled & (next_turn != turns)


def place_on_turn_ends(turn_rewards: Tensor, turns: Tensor, mask: Tensor) -> Tensor:
    """Place each turn's reward on its last sampled token: turn-wise credit."""
    return spread_turns(turn_rewards, turns, find_turn_ends(turns, mask))


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

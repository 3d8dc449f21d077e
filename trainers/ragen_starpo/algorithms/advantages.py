"""Advantage estimators, and the placement of rewards on tokens.

Shapes: `mask`, `rewards`, `values` and all results are (trajectories, tokens). `mask` is 1 on
sampled tokens. Tokens of observations stand between them and are skipped, so a turn's last token is
followed by the next turn's first. Advantages are 0 where the mask is 0. Estimators that compare the
returns of a group compute in 64 bits, and give 0 where returns differ by rounding alone. No shape
depends on values, so `torch.vmap` can run an estimator for many seeds at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field

from ragen_starpo.algorithms.masked import (
    center_in_groups,
    group_sizes,
    group_slots,
    group_std,
    masked_whiten,
)
from ragen_starpo.algorithms.registry import estimator

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    from ragen_starpo.algorithms.lazy_torch import Tensor, torch

Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Weight: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]


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


@estimator(
    "bi-level-gae",
    critic=True,
    credit="turn",
    formula="gae over turns with `gamma_turn`, then over the tokens of each turn; whitened",
    paper="2504.20073",
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


@estimator(
    "grpo",
    whole_returns=True,
    formula="(R - mean R) / std R, in a group",
    paper="2402.03300",
    verl="grpo",
)
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
    is_alone = _is_alone(groups)
    advantages = torch.where(
        is_alone,
        scores.double() / (1 + eps if normalize_std else 1),
        _compare(scores, groups, normalize_std, eps),
    )
    return _spread(advantages, mask)


@estimator(
    "dr-grpo",
    whole_returns=True,
    formula="R - mean R",
    paper="2503.20783",
    verl="grpo, norm_adv_by_std_in_grpo=False",
)
def dr_grpo(scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    """GRPO without the division by the standard deviation (Dr.GRPO, arXiv 2503.20783).

    The division favours instances that are nearly always or never solved.
    """
    return grpo(scores, groups, mask, normalize_std=False)


@estimator(
    "rloo",
    whole_returns=True,
    formula="R - mean R of the other rollouts",
    paper="2402.14740",
    verl="rloo",
)
def rloo(scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    """Returns minus the mean return of the other rollouts (RLOO, arXiv 2402.14740, section 3).

    A group of one keeps its return.

    Args:
        scores: (trajectories,) returns.
        groups: (trajectories,) number of the instance.
        mask: 1 on sampled tokens.
    """
    index, count = group_slots(groups)
    size = group_sizes(index, count)[index]
    advantages = center_in_groups(scores, index, count) * size / (size - 1).clamp(min=1)
    return _spread(torch.where(size > 1, advantages, scores.double()), mask)


@estimator(
    "reinforce-plus-plus",
    formula="discounted return of the token; whitened",
    paper="2501.03262",
    verl="reinforce_plus_plus",
)
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


@estimator(
    "reinforce-plus-plus-baseline",
    whole_returns=True,
    formula="R - mean R; whitened",
    paper="2501.03262",
    verl="reinforce_plus_plus_baseline",
)
def reinforce_plus_plus_baseline(scores: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    """Returns minus the group's mean, whitened over the batch's tokens (arXiv 2501.03262).

    A group of one keeps its return before whitening.

    Args:
        scores: (trajectories,) returns.
        groups: (trajectories,) number of the instance.
        mask: 1 on sampled tokens.
    """
    return masked_whiten(grpo(scores, groups, mask, normalize_std=False), mask)


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

    Args:
        rewards: Rewards of tokens, 0 on most.
        values: The critic's values.
        mask: 1 on sampled tokens.
        scores: (trajectories,) returns.
        groups: (trajectories,) number of the instance.
        gamma: Discount per token.
        lam: The lambda of GAE.
        group_weight: The weight w of the group's mean, from 0 to 1.

    Returns:
        Advantages, whitened over all sampled tokens, and returns for the critic.
    """
    advantages = _gae(rewards, values, mask.bool(), gamma, lam, _no_ends(mask))
    relative = grpo(scores, groups, mask, normalize_std=False)
    mixed = (1 - group_weight) * advantages + group_weight * relative
    return masked_whiten(mixed, mask).to(values.dtype), advantages + values


@estimator(
    "gigpo",
    whole_returns=True,
    credit="turn",
    formula="grpo + `step_weight` grpo of discounted rewards from turns that began in one state",
    paper="2505.10978",
)
def gigpo(  # noqa: PLR0913  # all are given by name
    scores: Tensor,
    groups: Tensor,
    mask: Tensor,
    turns: Tensor,
    turn_rewards: Tensor,
    states: Tensor,
    *,
    gamma_turn: float = 0.95,
    step_weight: Weight = 1.0,
    normalize_std: bool = True,
    eps: float = 1e-6,
) -> Tensor:
    """GRPO plus the same comparison among turns that began in equal states (arXiv 2505.10978).

    A = A_episode + w A_step. A_episode is that of `grpo`. A_step compares R_t, the rewards from
    turn t on discounted with `gamma_turn`, with those of all turns of the group that began in the
    same state, in any rollout and at any time. It is 0 for a state that occurs once.

    Args:
        scores: (trajectories,) returns.
        groups: (trajectories,) number of the instance.
        mask: 1 on sampled tokens.
        turns: Turn of each token, from 0.
        turn_rewards: (trajectories, turns) rewards, 0 after the last turn.
        states: (trajectories, turns) number of the state that each turn began in, which no two
            groups share; -1 after the last turn.
        gamma_turn: Discount per turn, 0.95 in the paper.
        step_weight: The weight w.
        normalize_std: Divide both terms by their group's standard deviation.
        eps: Added to the standard deviations.
    """
    returns = _discounted(turn_rewards.double(), gamma_turn)
    steps = _compare(returns.flatten(), states.flatten(), normalize_std, eps).view(states.shape)
    whole = grpo(scores, groups, mask, normalize_std, eps)
    return whole + step_weight * _spread_turns(steps, turns, mask)


@estimator(
    "turn-grpo",
    whole_returns=True,
    credit="turn",
    formula="grpo + `turn_weight` grpo of the turn's own rewards, but in the last turn",
    paper="2505.11821",
)
def turn_grpo(
    scores: Tensor,
    groups: Tensor,
    mask: Tensor,
    turns: Tensor,
    turn_rewards: Tensor,
    *,
    turn_weight: Weight = 1.0,
    normalize_std: bool = True,
    eps: float = 1e-6,
) -> Tensor:
    """GRPO plus the turn's own reward relative to the group's (MT-GRPO, arXiv 2505.11821).

    A = A_outcome + w A_turn before a trajectory's last turn, and A_outcome in it. A_outcome is
    that of `grpo`. A_turn compares the reward of turn k with the rewards of turn k in the other
    rollouts of the group that went on after it; it is 0 if there are none.

    Args:
        scores: (trajectories,) returns.
        groups: (trajectories,) number of the instance.
        mask: 1 on sampled tokens.
        turns: Turn of each token, from 0.
        turn_rewards: (trajectories, turns) rewards, 0 after the last turn.
        turn_weight: The weight w.
        normalize_std: Divide both terms by their group's standard deviation.
        eps: Added to the standard deviations.
    """
    index, _ = group_slots(groups)
    number = torch.arange(turn_rewards.shape[1], device=mask.device)
    last = torch.where(mask.bool(), turns, -1).amax(1)
    goes_on = number < last[:, None]
    keys = torch.where(goes_on, index[:, None] * turn_rewards.shape[1] + number, -1)
    compared = _compare(turn_rewards.double().flatten(), keys.flatten(), normalize_std, eps)
    steps = torch.where(goes_on, compared.view(keys.shape), 0.0)
    whole = grpo(scores, groups, mask, normalize_std, eps)
    return whole + turn_weight * _spread_turns(steps, turns, mask)


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
    return _spread_turns(turn_rewards, turns, ends)


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


def _compare(scores: Tensor, groups: Tensor, normalize_std: bool, eps: float) -> Tensor:
    """Return scores relative to their group's mean; 0 in a group of one."""
    index, count = group_slots(groups)
    centered = center_in_groups(scores, index, count)
    return centered / (group_std(scores, index, count)[index] + eps) if normalize_std else centered


def _is_alone(groups: Tensor) -> Tensor:
    """Return (trajectories,) True for a group of one."""
    index, count = group_slots(groups)
    return (group_sizes(index, count) == 1)[index]


def _discounted(turn_rewards: Tensor, gamma: float) -> Tensor:
    """Return (trajectories, turns) the discounted rewards from each turn on."""
    returns, following = [], torch.zeros_like(turn_rewards[:, 0])
    for number in reversed(range(turn_rewards.shape[1])):
        following = turn_rewards[:, number] + gamma * following
        returns.append(following)
    return torch.stack(returns[::-1], 1)


def _spread_turns(values: Tensor, turns: Tensor, where: Tensor) -> Tensor:
    """Give each turn's value, (trajectories, turns), to its tokens in a mask."""
    of_tokens = torch.gather(values, 1, turns.clamp(0, values.shape[1] - 1))
    return torch.where(where.bool(), of_tokens, 0.0)


def _spread(advantages: Tensor, mask: Tensor) -> Tensor:
    """Give each trajectory's advantage to its sampled tokens."""
    return torch.where(mask.bool(), advantages[:, None], 0.0)

"""Advantage estimators that compare the returns of a group.

Shapes and masks are those of `ragen_starpo.algorithms.advantages`. Returns are compared in 64 bits,
and advantages are 0 where returns differ by rounding alone.

`scores` are the (trajectories,) returns, and `groups` the numbers of their instances. `turns` is
the turn of each token, from 0, and `turn_rewards` are (trajectories, turns), 0 after the last turn.
`eps` is added to standard deviations, by which `normalize_std` divides.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from ragen_starpo.algorithms.lazy_torch import Tensor, torch
from ragen_starpo.algorithms.masked import (
    center_in_groups,
    group_sizes,
    group_slots,
    group_std,
    masked_whiten,
)
from ragen_starpo.algorithms.registry import estimator

Weight: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]


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

    With `normalize_std` they are divided by the group's standard deviation plus `eps`. A group of
    one keeps its return.
    """
    index, count = group_slots(groups)
    advantages = torch.where(
        (group_sizes(index, count) == 1)[index],
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
    """
    index, count = group_slots(groups)
    size = group_sizes(index, count)[index]
    advantages = center_in_groups(scores, index, count) * size / (size - 1).clamp(min=1)
    return _spread(torch.where(size > 1, advantages, scores.double()), mask)


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
    """
    return masked_whiten(grpo(scores, groups, mask, normalize_std=False), mask)


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
    same state, in any rollout and at any time. It is 0 for a state that occurs once. `step_weight`
    is w, and `gamma_turn` is 0.95 in the paper.
    """
    returns = _discount(turn_rewards.double(), gamma_turn)
    steps = _compare(returns.flatten(), states.flatten(), normalize_std, eps).view(states.shape)
    whole = grpo(scores, groups, mask, normalize_std, eps)
    return whole + step_weight * spread_turns(steps, turns, mask)


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
    rollouts of the group that went on after it; it is 0 if there are none. `turn_weight` is w.
    """
    index, _ = group_slots(groups)
    number = torch.arange(turn_rewards.shape[1], device=mask.device)
    last = torch.where(mask.bool(), turns, -1).amax(1)
    goes_on = number < last[:, None]
    keys = torch.where(goes_on, index[:, None] * turn_rewards.shape[1] + number, -1)
    compared = _compare(turn_rewards.double().flatten(), keys.flatten(), normalize_std, eps)
    steps = torch.where(goes_on, compared.view(keys.shape), 0.0)
    whole = grpo(scores, groups, mask, normalize_std, eps)
    return whole + turn_weight * spread_turns(steps, turns, mask)


def _compare(scores: Tensor, groups: Tensor, normalize_std: bool, eps: float) -> Tensor:
    """Return scores relative to their group's mean; 0 in a group of one."""
    index, count = group_slots(groups)
    centered = center_in_groups(scores, index, count)
    return centered / (group_std(scores, index, count)[index] + eps) if normalize_std else centered


def _discount(turn_rewards: Tensor, gamma: float) -> Tensor:
    """Return (trajectories, turns) the discounted rewards from each turn on."""
    returns, following = [], torch.zeros_like(turn_rewards[:, 0])
    for number in reversed(range(turn_rewards.shape[1])):
        following = turn_rewards[:, number] + gamma * following
        returns.append(following)
    return torch.stack(returns[::-1], 1)


def spread_turns(values: Tensor, turns: Tensor, where: Tensor) -> Tensor:
    """Give each turn's value, (trajectories, turns), to its tokens in a mask."""
    of_tokens = torch.gather(values, 1, turns.clamp(0, values.shape[1] - 1))
    return torch.where(where.bool(), of_tokens, 0.0)


def _spread(advantages: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask.bool(), advantages[:, None], 0.0)

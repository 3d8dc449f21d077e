"""Group filters: which groups of rollouts are trained on, by how much their returns differ."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ragen_starpo.algorithms.masked import group_deviation, group_index
from ragen_starpo.recipes.sections import FilterSettings


def kept_rollouts(settings: FilterSettings, scores: Tensor, groups: Tensor) -> Tensor:
    """Return which trajectories are trained on.

    Args:
        settings: the strategy, see `FilterSettings`.
        scores: (trajectories,) returns.
        groups: (trajectories,) equal for rollouts of the same instance.

    Returns:
        (trajectories,) True where kept; a group is kept as a whole. There may be none.
    """
    index, count = group_index(groups)
    deviations = group_deviation(scores, index, count)
    return _groups(settings, deviations)[index]


def _groups(settings: FilterSettings, deviations: Tensor) -> Tensor:
    """Return which groups are kept, (groups,)."""
    if settings.strategy == "all":
        return torch.ones_like(deviations, dtype=torch.bool)
    # Stable, so that ties go to the group that comes first.
    order = torch.argsort(deviations, descending=True, stable=True)
    chosen = torch.zeros_like(deviations, dtype=torch.bool)
    chosen[order[: _how_many(settings, deviations[order])]] = True
    return chosen & (deviations > settings.eps)


def _how_many(settings: FilterSettings, ranked: Tensor) -> int:
    """Return how many groups are kept, from their deviations in falling order."""
    if settings.strategy == "top-k":
        return settings.most(len(ranked))
    variances = torch.where(ranked > settings.eps, ranked.square(), 0.0)
    if settings.strategy == "min-p":
        return int((variances >= settings.amount * variances[0]).sum())
    weights = (
        torch.softmax(variances.masked_fill(ranked <= settings.eps, -math.inf), 0)
        if settings.strategy == "top-p-softmax"
        else variances
    )
    reached = torch.cumsum(weights, 0) >= settings.amount * weights.sum() * (1 - 1e-6)
    return int((~reached).sum()) + 1

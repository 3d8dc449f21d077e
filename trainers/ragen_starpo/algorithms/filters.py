"""Group filters: which groups of rollouts are trained on, by a score of each."""

from __future__ import annotations

import torch
from torch import Tensor

from ragen_starpo.algorithms.masked import group_deviation, group_index, group_mean
from ragen_starpo.recipes.sections import FilterSettings


def kept_rollouts(
    settings: FilterSettings, scores: Tensor, groups: Tensor, measured: Tensor | None = None
) -> Tensor:
    """Return which trajectories are trained on.

    Args:
        settings: the strategy, see `FilterSettings`.
        scores: (trajectories,) returns.
        groups: (trajectories,) equal for rollouts of the same instance.
        measured: (trajectories,) what a group's score is the mean of; None for a score that
            compares returns.

    Returns:
        (trajectories,) True where kept; a group is kept as a whole. There may be none.
    """
    index, count = group_index(groups)
    if settings.strategy == "all":
        return torch.ones_like(index, dtype=torch.bool)
    deviations = group_deviation(scores, index, count)
    if measured is not None:
        of_groups = group_mean(measured, index, count)
    else:
        of_groups = deviations if settings.score == "deviation" else deviations.square()
    return _groups(settings, of_groups, deviations > settings.eps)[index]


def _groups(settings: FilterSettings, scores: Tensor, differ: Tensor) -> Tensor:
    """Return which groups are kept, of those whose returns differ, (groups,)."""
    wanted = scores if settings.keep == "largest" else -scores
    # Stable, so that ties go to the group that comes first.
    order = torch.argsort(wanted, descending=True, stable=True)
    order = order[differ[order]]
    chosen = torch.zeros_like(differ)
    if len(order):
        most = settings.most(len(scores))
        chosen[order[: min(most, _how_many(settings, scores[order]))]] = True
    return chosen


def _how_many(settings: FilterSettings, ranked: Tensor) -> int:
    """Return how many groups are kept, from their scores, the most wanted first."""
    if settings.strategy == "top-k":
        return len(ranked)
    largest = settings.keep == "largest"
    if settings.strategy == "min-p":
        if largest:
            return int((ranked >= settings.amount * ranked[0]).sum())
        return int((ranked <= ranked[0] / settings.amount).sum())
    weights = ranked
    if settings.strategy == "top-p-softmax":
        weights = torch.softmax(ranked if largest else -ranked, 0)
    goal = settings.amount * weights.sum() * (1 - 1e-6) - settings.slack
    before = torch.cumsum(weights, 0) - weights
    return int((before < goal).sum())

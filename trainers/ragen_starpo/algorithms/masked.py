"""Means and standard deviations over masked tokens, or over the trajectories of a group."""

from __future__ import annotations

from ragen_starpo.algorithms.lazy_torch import Tensor, torch

_ROUNDING = 1e-6
"""Scores are equal if their distances from the mean are at most this fraction of the largest."""


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the values where the mask is not 0, a scalar; 0 for an empty mask."""
    weights = mask.to(values.dtype)
    # Not a product: masked values may be infinite.
    return torch.where(mask.bool(), values, 0.0).sum() / weights.sum().clamp(min=1.0)


def masked_whiten(values: Tensor, mask: Tensor, eps: float = 1e-8) -> Tensor:
    """Return values of mean 0 and standard deviation 1 where the mask is not 0, and 0 elsewhere.

    The variance is the unbiased one, computed in 64 bits, plus `eps`. Of fewer than two values,
    only the mean is subtracted.
    """
    is_valid, exact = mask.bool(), values.double()
    others = is_valid.sum() - 1
    centered = torch.where(is_valid, exact - masked_mean(exact, mask), 0.0)
    variance = centered.square().sum() / others.clamp(min=1)
    scale = torch.where(others > 0, torch.rsqrt(variance + eps), 1.0)
    return (centered * scale).to(values.dtype)


def group_index(groups: Tensor) -> tuple[Tensor, int]:
    """Return each trajectory's group as a number from 0, and the number of groups."""
    distinct, index = torch.unique(groups, return_inverse=True)
    return index, len(distinct)


def group_slots(groups: Tensor) -> tuple[Tensor, int]:
    """Return each row's group as a number from 0, and the number of rows.

    The latter bounds the groups: no shape depends on values, so `torch.vmap` can batch it.
    """
    ordered, order = torch.sort(groups)
    is_new = torch.cat([torch.zeros_like(order[:1]), (ordered[1:] != ordered[:-1]).long()])
    return torch.zeros_like(order).scatter(0, order, is_new.cumsum(0)), groups.shape[0]


def group_mean(scores: Tensor, index: Tensor, count: int) -> Tensor:
    """Return the mean score of each group, (groups,), in 64 bits."""
    sums = torch.zeros(count, dtype=torch.float64, device=scores.device)
    return sums.scatter_add(0, index, scores.double()) / group_sizes(index, count).clamp(min=1)


def center_in_groups(scores: Tensor, index: Tensor, count: int) -> Tensor:
    """Return scores minus their group's mean, (trajectories,), in 64 bits.

    Where the scores of a group differ by rounding alone, all are 0: divided by their standard
    deviation, rounding errors would look like real differences.
    """
    centered = scores.double() - group_mean(scores, index, count)[index]
    largest = _max_magnitude(scores.double(), index, count)
    differ = _max_magnitude(centered, index, count) > _ROUNDING * largest
    return torch.where(differ[index], centered, 0.0)


def group_std(scores: Tensor, index: Tensor, count: int) -> Tensor:
    """Return the unbiased standard deviation of each group's scores, (groups,), in 64 bits.

    It is 0 for a group of one, and where scores differ by rounding alone.
    """
    zeros = torch.zeros(count, dtype=torch.float64, device=scores.device)
    squares = zeros.scatter_add(0, index, center_in_groups(scores, index, count).square())
    return torch.sqrt(squares / (group_sizes(index, count) - 1).clamp(min=1))


def group_sizes(index: Tensor, count: int) -> Tensor:
    """Return the number of trajectories of each group, (groups,)."""
    zeros = torch.zeros(count, dtype=torch.int64, device=index.device)
    return zeros.scatter_add(0, index, torch.ones_like(index))


def trajectory_sums(values: Tensor, trajectories: Tensor) -> Tensor:
    """Return for each sequence the sum over its trajectory, (sequences,)."""
    index, count = group_slots(trajectories)
    return values.new_zeros(count).scatter_add(0, index, values)[index]


def _max_magnitude(values: Tensor, index: Tensor, count: int) -> Tensor:
    zeros = torch.zeros(count, dtype=values.dtype, device=values.device)
    return zeros.scatter_reduce(0, index, values.abs(), "amax")

"""Means and deviations over the tokens that a mask admits, or over the trajectories of a group."""

from __future__ import annotations

import torch
from torch import Tensor

_ROUNDING = 1e-6
"""Scores are equal that differ from their mean by at most this share of the largest of them."""


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the admitted values, a scalar; 0 where none is.

    Args:
        values: any shape.
        mask: the same shape, 1 or True where a value counts.
    """
    weights = mask.to(values.dtype)
    # Not a product: what is masked out may be infinite.
    return torch.where(mask.bool(), values, 0.0).sum() / weights.sum().clamp(min=1.0)


def masked_whiten(values: Tensor, mask: Tensor, eps: float = 1e-8) -> Tensor:
    """Return values of mean 0 and deviation 1 over the admitted ones, and 0 elsewhere.

    The variance is the unbiased one. With fewer than two admitted values there is none, and only
    the mean is taken off. It is computed in 64 bits.

    Args:
        values: any shape.
        mask: the same shape.
        eps: added to the variance.
    """
    admitted, exact = mask.bool(), values.double()
    count = int(admitted.sum())
    centred = torch.where(admitted, exact - masked_mean(exact, mask), 0.0)
    if count > 1:
        variance = centred.square().sum() / (count - 1)
        centred = centred * torch.rsqrt(variance + eps)
    return centred.to(values.dtype)


def group_index(groups: Tensor) -> tuple[Tensor, int]:
    """Return each trajectory's group as a number from 0 on, and how many groups there are.

    Args:
        groups: (trajectories,) any integers; equal ones are of one group.
    """
    distinct, index = torch.unique(groups, return_inverse=True)
    return index, len(distinct)


def group_mean(scores: Tensor, index: Tensor, count: int) -> Tensor:
    """Return the mean score of each group, (groups,), in 64 bits."""
    sums = torch.zeros(count, dtype=torch.float64, device=scores.device)
    return sums.index_add(0, index, scores.double()) / group_sizes(index, count)


def group_centred(scores: Tensor, index: Tensor, count: int) -> Tensor:
    """Return scores less the mean of their group, (trajectories,), in 64 bits.

    In a group whose scores differ by rounding alone all of them are 0: divided by their deviation
    they would look like any others.
    """
    centred = scores.double() - group_mean(scores, index, count)[index]
    apart = _largest(centred, index, count) > _ROUNDING * _largest(scores.double(), index, count)
    return torch.where(apart[index], centred, 0.0)


def group_deviation(scores: Tensor, index: Tensor, count: int) -> Tensor:
    """Return the unbiased standard deviation of each group's scores, (groups,), in 64 bits.

    It is 0 for one alone, and where scores differ by rounding alone.
    """
    squares = torch.zeros(count, dtype=torch.float64, device=scores.device)
    squares.index_add_(0, index, group_centred(scores, index, count).square())
    return torch.sqrt(squares / (group_sizes(index, count) - 1).clamp(min=1))


def group_sizes(index: Tensor, count: int) -> Tensor:
    """Return how many trajectories each group has, (groups,)."""
    return torch.bincount(index, minlength=count)


def trajectory_sums(values: Tensor, trajectories: Tensor) -> Tensor:
    """Return the sum over the sequences of each one's trajectory, (sequences,).

    Args:
        values: (sequences,).
        trajectories: (sequences,) any integers; equal ones are of one trajectory.
    """
    index, count = group_index(trajectories)
    return values.new_zeros(count).index_add(0, index, values)[index]


def _largest(values: Tensor, index: Tensor, count: int) -> Tensor:
    """Return the largest magnitude in each group, (groups,)."""
    none = torch.zeros(count, dtype=values.dtype, device=values.device)
    return none.scatter_reduce(0, index, values.abs(), "amax")

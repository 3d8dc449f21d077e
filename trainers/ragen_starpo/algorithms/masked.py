"""Means and deviations over the tokens that a mask admits, or over the trajectories of a group."""

from __future__ import annotations

import torch
from torch import Tensor


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
    the mean is taken off.

    Args:
        values: any shape.
        mask: the same shape.
        eps: added to the variance.
    """
    admitted = mask.bool()
    count = int(admitted.sum())
    centred = torch.where(admitted, values - masked_mean(values, mask), 0.0)
    if count < 2:
        return centred
    variance = centred.square().sum() / (count - 1)
    return centred * torch.rsqrt(variance + eps)


def group_index(groups: Tensor) -> tuple[Tensor, int]:
    """Return each trajectory's group as a number from 0 on, and how many groups there are.

    Args:
        groups: (trajectories,) any integers; equal ones are of one group.
    """
    found, index = torch.unique(groups, return_inverse=True)
    return index, len(found)


def group_mean(scores: Tensor, index: Tensor, count: int) -> Tensor:
    """Return the mean score of each group, (groups,)."""
    sums = torch.zeros(count, dtype=scores.dtype, device=scores.device)
    return sums.index_add(0, index, scores) / group_sizes(index, count)


def group_deviation(scores: Tensor, index: Tensor, count: int) -> Tensor:
    """Return the unbiased standard deviation of each group's scores, (groups,); 0 for one alone."""
    centred = scores - group_mean(scores, index, count)[index]
    sums = torch.zeros(count, dtype=scores.dtype, device=scores.device)
    squares = sums.index_add(0, index, centred.square())
    return torch.sqrt(squares / (group_sizes(index, count) - 1).clamp(min=1))


def group_sizes(index: Tensor, count: int) -> Tensor:
    """Return how many trajectories each group has, (groups,)."""
    return torch.bincount(index, minlength=count)

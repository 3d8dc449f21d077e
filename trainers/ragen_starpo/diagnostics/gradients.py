"""Norms of the gradient by how much the returns of groups vary, its parts apart (RAGEN-2).

RAGEN-2 (arXiv 2604.06268) explains template collapse by the signal in the noise: in groups whose
returns hardly vary the task's gradient is small, and what the regularising terms add is as large as
ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import TypeAlias

import torch
from torch import Tensor

from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.algorithms.masked import group_index, group_std
from ragen_starpo.engine.worker import PolicyLossFunction
from ragen_starpo.objective import policy_contribution
from ragen_starpo.recipes.sections import LossSettings
from ragen_starpo.rollout.trajectory import TokenBatch

GradientNorm: TypeAlias = Callable[[TokenBatch, Mapping[str, Tensor], PolicyLossFunction], float]
"""Of a batch, the columns of its rows and a loss: the norm of the gradient, without a step."""


def gradient_figures(
    loss: LossSettings,
    buckets: int,
    batch: TokenBatch,
    columns: Mapping[str, Tensor],
    norm: GradientNorm,
) -> dict[str, float]:
    """Return the norms of the gradient of buckets of groups, by `gradients/BUCKET/NAME`.

    Groups in the order of the deviation of the returns that are learned from are divided into
    buckets of as many, so that the first has those that vary least. Each is a mini-batch of its
    own, whose loss has the recipe's aggregation. The policy computes twice what it learns from in a
    pass, or once where the loss has nothing that regularises.

    Args:
        loss: of the recipe.
        buckets: at most; never more than groups.
        batch: all that an iteration learns from.
        columns: of `policy_contribution`, but for `weights`.
        norm: by the policy before its first step.

    Returns:
        Of each bucket, counted from 1 on: `deviation`, the mean of its groups; `task`, the norm
        without entropy bonus and divergence; `regularisation`, the norm of these two alone. What is
        not finite is left out.
    """
    figures: dict[str, float] = {}
    for number, (rows, deviation) in enumerate(by_deviation(batch, buckets), 1):
        some = batch.rows(rows)
        weights = token_weights(some.mask, loss.aggregation, loss.horizon, some.trajectories)
        own = {**{name: column[rows] for name, column in columns.items()}, "weights": weights}
        task = partial(policy_contribution, replace(loss, entropy=0.0, kl=0.0))
        # Without advantages nothing of the task is left.
        rest = {**own, "advantages": torch.zeros_like(own["advantages"])}
        regularises = bool(loss.entropy or loss.kl)
        figures |= {
            f"gradients/{number}/deviation": deviation,
            f"gradients/{number}/task": norm(some, own, task),
            f"gradients/{number}/regularisation": (
                norm(some, rest, partial(policy_contribution, loss)) if regularises else 0.0
            ),
        }
    return {name: value for name, value in figures.items() if isfinite(value)}


def by_deviation(batch: TokenBatch, buckets: int) -> list[tuple[Tensor, float]]:
    """Return buckets of groups from the least deviation of returns to the largest.

    Args:
        batch: whole groups.
        buckets: at least 1; there are no more than groups.

    Returns:
        Of each bucket the indices of its sequences, and the mean deviation of its groups.
    """
    # A trajectory of several sequences counts once.
    firsts = torch.cat([torch.tensor([True]), batch.trajectories.diff() != 0])
    index, count = group_index(batch.groups)
    deviations = group_std(batch.scores[firsts], index[firsts], count)
    order = torch.argsort(deviations, stable=True)
    return [
        (torch.isin(index, groups).nonzero().flatten(), float(deviations[groups].mean()))
        for groups in torch.tensor_split(order, min(buckets, count))
    ]

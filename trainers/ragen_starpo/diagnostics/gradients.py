"""Gradient norms of the task and of the regularisation, by the spread of returns (RAGEN-2).

RAGEN-2 (arXiv 2604.06268) explains template collapse by a low signal-to-noise ratio: in groups
whose returns hardly vary, the task's gradient is small and the regularisation's is as large as
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
"""Computes the gradient norm of a batch, the columns of its rows and a loss, without a step."""


def measure_gradients(
    loss: LossSettings,
    buckets: int,
    batch: TokenBatch,
    trained: Tensor,
    columns: Mapping[str, Tensor],
    norm: GradientNorm,
) -> dict[str, float]:
    """Return the gradient norms of buckets of groups, by `gradients/BUCKET/NAME`.

    Groups are sorted by the standard deviation of their returns and split into buckets of equal
    size; the first varies least. Each bucket is a mini-batch with the recipe's aggregation.

    `trained` is 1 on tokens that are trained on. The columns are those of `policy_contribution`
    without `weights`, and the norm is that of the policy before its first step. Each bucket,
    counted from 1, has `deviation`, the mean standard deviation of its groups; `task`, the norm
    without entropy bonus and KL; and `regularisation`, the norm of these two alone. Values that are
    not finite are left out.
    """
    metrics: dict[str, float] = {}
    for number, (rows, std) in enumerate(split_by_std(batch, buckets), 1):
        bucket = batch.rows(rows)
        weights = token_weights(trained[rows], loss.aggregation, loss.horizon, bucket.trajectories)
        with_weights = {name: column[rows] for name, column in columns.items()}
        with_weights["weights"] = weights
        task = partial(policy_contribution, replace(loss, entropy=0.0, kl=0.0))
        # Zero advantages remove the task's part of the loss.
        no_task = {**with_weights, "advantages": torch.zeros_like(with_weights["advantages"])}
        is_regularised = bool(loss.entropy or loss.kl)
        metrics |= {
            f"gradients/{number}/deviation": std,
            f"gradients/{number}/task": norm(bucket, with_weights, task),
            f"gradients/{number}/regularisation": (
                norm(bucket, no_task, partial(policy_contribution, loss)) if is_regularised else 0.0
            ),
        }
    return {name: value for name, value in metrics.items() if isfinite(value)}


def split_by_std(batch: TokenBatch, buckets: int) -> list[tuple[Tensor, float]]:
    """Return up to `buckets` buckets of complete groups, sorted by the std of their returns.

    Each has the indices of its sequences, and the mean standard deviation of its groups.
    """
    # A trajectory of several sequences counts once.
    firsts = torch.cat([torch.tensor([True]), batch.trajectories.diff() != 0])
    index, count = group_index(batch.groups)
    stds = group_std(batch.scores[firsts], index[firsts], count)
    order = torch.argsort(stds, stable=True)
    return [
        (torch.isin(index, groups).nonzero().flatten(), float(stds[groups].mean()))
        for groups in torch.tensor_split(order, min(buckets, count))
    ]

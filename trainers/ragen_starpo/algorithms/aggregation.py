"""Mini-batches: the trajectories of each optimiser step, and the weights of their token losses."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from ragen_envs.core.instances import RandomStream
from ragen_starpo.algorithms.masked import group_slots
from ragen_starpo.algorithms.registry import AGGREGATIONS, Aggregation


def mini_batches(
    count: int, iteration: int, *, size: int, passes: int, seed: int
) -> Iterator[Tensor]:
    """Yield the indices of each step, in an order that the seed decides.

    A pass takes the fewest steps of at most `size` trajectories. Their sizes differ by at most
    one, since every step moves the policy equally far, and a small one would overweight its
    trajectories.
    """
    steps = math.ceil(count / size)
    for update in range(passes):
        stream = RandomStream("mini-batches", seed, f"{iteration}/{update}")
        noise = torch.Generator().manual_seed(stream.word() >> 1)
        order = torch.randperm(count, generator=noise)
        yield from torch.tensor_split(order, steps)


def token_weights(
    mask: Tensor,
    aggregation: Aggregation,
    horizon: int | None = None,
    trajectories: Tensor | None = None,
) -> Tensor:
    """Return (sequences, tokens) weights whose products with token losses sum to the loss.

    The sum over some rows is their contribution, so the gradient does not depend on
    micro-batches.

    `token-mean` weights tokens equally (DAPO); `seq-mean-token-mean` trajectories equally
    (GRPO); `seq-mean-token-sum` trajectories by length; `seq-mean-token-sum-norm` the same,
    divided by a constant horizon in tokens (Dr.GRPO, arXiv 2503.20783), since the width of the
    batch differs from step to step. Trajectories without sampled tokens are not counted. Each
    sequence is one if `trajectories` is None. ValueError if the aggregation is unknown, or its
    horizon is missing. No shape depends on values, so `torch.vmap` can batch it.
    """
    weights = mask.to(torch.get_default_dtype())
    if trajectories is None:
        trajectories = torch.arange(len(mask), device=mask.device)
    index, rows = group_slots(trajectories)
    totals = weights.new_zeros(rows).scatter_add(0, index, weights.sum(1))
    lengths, count = totals[index], (totals > 0).sum().clamp(min=1)
    if aggregation == "token-mean":
        return weights / weights.sum().clamp(min=1.0)
    if aggregation == "seq-mean-token-mean":
        return weights / lengths.clamp(min=1.0)[:, None] / count
    if aggregation == "seq-mean-token-sum":
        return weights / count
    if aggregation == "seq-mean-token-sum-norm":
        if horizon is None:
            raise ValueError(f"{aggregation} needs a horizon")
        return weights / (count * horizon)
    raise ValueError(
        f"unknown aggregation {aggregation!r}; choose one of: {', '.join(AGGREGATIONS)}"
    )

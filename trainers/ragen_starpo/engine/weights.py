"""Weights of the tokens' losses in a mini-batch, to which any micro-batches add up."""

from __future__ import annotations

import torch
from torch import Tensor

from ragen_starpo.algorithms.masked import trajectory_sums
from ragen_starpo.recipes.sections import AGGREGATIONS, Aggregation


def token_weights(
    mask: Tensor,
    how: Aggregation,
    horizon: int | None = None,
    trajectories: Tensor | None = None,
) -> Tensor:
    """Return weights with which the losses of tokens sum up to the aggregate of the mini-batch.

    The sum of weights times losses over all rows is their aggregate; over some rows it is what
    these contribute. Passed as a column to an update, they make the gradient independent of
    micro-batches.

    Args:
        mask: (sequences, tokens) of the whole mini-batch, 1 on sampled tokens.
        how: `token-mean`, every token alike (DAPO); `seq-mean-token-mean`, every trajectory alike
            (GRPO); `seq-mean-token-sum`, trajectories by their lengths; `seq-mean-token-sum-norm`,
            the same over a constant length (Dr.GRPO, arXiv 2503.20783). Trajectories without a
            sampled token count in no mean. One of several sequences has the weight of one that is
            a single sequence of as many sampled tokens.
        horizon: that length, in tokens; the other aggregations have none. It is given and not the
            width of the batch, which differs from step to step and would be no constant.
        trajectories: (sequences,) the number of each one's trajectory; None where each is one.

    Returns:
        (sequences, tokens), 0 but on sampled tokens.

    Raises:
        ValueError: if the aggregation is unknown, or its horizon is missing.
    """
    admitted = mask.to(torch.get_default_dtype())
    if trajectories is None:
        trajectories = torch.arange(len(mask), device=mask.device)
    lengths = trajectory_sums(admitted.sum(1), trajectories)
    count = float(len(torch.unique(trajectories[lengths > 0])) or 1)
    if how == "token-mean":
        return admitted / admitted.sum().clamp(min=1.0)
    if how == "seq-mean-token-mean":
        return admitted / lengths.clamp(min=1.0)[:, None] / count
    if how == "seq-mean-token-sum":
        return admitted / count
    if how == "seq-mean-token-sum-norm":
        if horizon is None:
            raise ValueError(f"{how} needs a horizon")
        return admitted / (count * horizon)
    raise ValueError(f"unknown aggregation {how!r}; choose one of: {', '.join(AGGREGATIONS)}")

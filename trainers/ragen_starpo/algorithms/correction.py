"""Importance weights for the gap between the sampling policy and the policy in training.

Shapes: (sequences, tokens); `mask` is 1 on sampled tokens.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ragen_starpo.algorithms.losses import MAX_LOG_RATIO
from ragen_starpo.algorithms.masked import masked_mean, trajectory_sums


def correct_advantages(
    advantages: Tensor,
    log_probs: Tensor,
    sampled_log_probs: Tensor,
    mask: Tensor,
    trajectories: Tensor,
    *,
    level: Literal["token", "sequence"],
    threshold: float,
) -> tuple[Tensor, dict[str, float]]:
    """Return advantages times truncated importance weights, and metrics of the weights.

    The surrogate loss is linear in an advantage, so this weights the loss of each token, by its
    own ratio or by the product of its trajectory's ratios, up to `threshold`. `log_probs` are
    those of the policy in training before the first step.

    Metrics: `correction/weight`, the mean weight of a token; `correction/truncated`, the
    fraction of tokens whose weight the threshold cut; `correction/effective`, the effective
    sample size as a fraction of the tokens, 1 for equal weights; and `correction/kl`, the mean
    of the engine's minus the trainer's log-probability.
    """
    log_ratio = torch.where(mask.bool(), log_probs - sampled_log_probs, 0.0)
    if level == "sequence":
        ratio = _exponential(trajectory_sums(log_ratio.sum(1), trajectories))[:, None]
    else:
        ratio = _exponential(log_ratio)
    ratio = ratio.expand_as(log_ratio) * mask
    weights = ratio.clamp(max=threshold)
    mean = masked_mean(weights, mask)
    metrics = {
        "weight": mean,
        "truncated": masked_mean((ratio > threshold).to(ratio.dtype), mask),
        "effective": mean.square() / masked_mean(weights.square(), mask),
        "kl": masked_mean(-log_ratio, mask),
    }
    return advantages * weights, {f"correction/{name}": float(v) for name, v in metrics.items()}


def _exponential(log_ratio: Tensor) -> Tensor:
    return torch.exp(log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO))

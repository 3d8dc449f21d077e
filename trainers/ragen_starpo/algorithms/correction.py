"""Correction of the gap between the policy that sampled and the one that is trained.

Shapes: (sequences, tokens); `mask` is 1 on sampled tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ragen_starpo.algorithms.masked import masked_mean, trajectory_sums
from ragen_starpo.recipes.sections import CorrectionSettings
from ragen_starpo.rollout.trajectory import TokenBatch

_LARGEST_LOG_RATIO = 20.0
"""Beyond it a ratio says nothing any more, and its exponential would overflow."""


def corrected(
    settings: CorrectionSettings, advantages: Tensor, log_probs: Tensor, batch: TokenBatch
) -> tuple[Tensor, dict[str, float]]:
    """Return advantages times truncated importance weights, and what is watched of these.

    The surrogate loss, clipped or not, is linear in an advantage, so this weights the loss of each
    token and nothing else. Without a correction they stay as they are, and nothing is watched.

    Args:
        settings: the level and the threshold.
        advantages: of the sampled tokens.
        log_probs: of these under the policy that is trained, before the first step.
        batch: the trajectories, with the log-probabilities of the engine that sampled them.

    Returns:
        The advantages, and `correction/weight`, the mean weight of a token; `correction/truncated`,
        the share of tokens whose weight is held by the threshold; `correction/effective`, the
        effective sample size as a share of the tokens: 1 where all weights are equal;
        `correction/kl`, the mean of the engine's log-probability less the trainer's.
    """
    if settings.level == "none":
        return advantages, {}
    apart = torch.where(batch.mask.bool(), log_probs - batch.log_probs, 0.0)
    if settings.level == "token":
        ratios = _ratios(apart)
    else:
        ratios = _ratios(trajectory_sums(apart.sum(1), batch.trajectories))[:, None]
    raw = ratios.expand_as(apart) * batch.mask
    weights = raw.clamp(max=settings.threshold)
    mean = masked_mean(weights, batch.mask)
    figures = {
        "weight": mean,
        "truncated": masked_mean((raw > settings.threshold).to(raw.dtype), batch.mask),
        "effective": mean.square() / masked_mean(weights.square(), batch.mask),
        "kl": masked_mean(-apart, batch.mask),
    }
    told = {f"correction/{name}": float(value) for name, value in figures.items()}
    return advantages * weights, told


def _ratios(log_ratios: Tensor) -> Tensor:
    return torch.exp(log_ratios.clamp(-_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO))

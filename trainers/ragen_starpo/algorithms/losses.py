"""The policy's, the critic's and the regularising losses of tokens.

Shapes: (sequences, tokens) unless said otherwise; `mask` is 1 on sampled tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ragen_starpo.algorithms.masked import masked_mean
from ragen_starpo.recipes.sections import (
    KL_ESTIMATORS,
    KLEstimator,
    LossSettings,
)

_LARGEST_LOG_RATIO = 20.0
"""Beyond it a ratio says nothing any more, and its exponential would overflow."""


@dataclass(frozen=True)
class PolicyLoss:
    """Losses of tokens, and what is watched of them.

    Attributes:
        losses: to be aggregated and minimised.
        clip_fraction: share of sampled tokens whose gradient one of the first two bounds ended.
        dual_clip_fraction: share of them whose gradient the dual bound ended.
        kl: mean of old less new log-probability: how far the policy is from that of the rollouts.
    """

    losses: Tensor
    clip_fraction: Tensor
    dual_clip_fraction: Tensor
    kl: Tensor


def policy_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    settings: LossSettings,
) -> PolicyLoss:
    """Return the clipped surrogate loss of each token (PPO, arXiv 1707.06347, eq. 7).

    Args:
        log_probs: of the sampled tokens under the policy that is trained.
        old_log_probs: under the policy that sampled them.
        advantages: of the tokens.
        mask: 1 on sampled tokens.
        settings: the bounds `clip_low`, `clip_high` and `dual_clip`.
    """
    bound = _LARGEST_LOG_RATIO
    log_ratio = torch.where(mask.bool(), log_probs - old_log_probs, 0.0).clamp(-bound, bound)
    ratio = torch.exp(log_ratio)
    free = -advantages * ratio
    held = -advantages * ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high)
    losses = torch.maximum(free, held)
    clipped = masked_mean((held > free).to(losses.dtype), mask)
    dual = torch.zeros_like(clipped)
    if settings.dual_clip is not None:
        most = -advantages * settings.dual_clip
        bounded = (advantages < 0) & (losses > most)
        dual = masked_mean(bounded.to(losses.dtype), mask)
        losses = torch.where(bounded, most, losses)
    return PolicyLoss(losses, clipped, dual, masked_mean(-log_ratio, mask))


def value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, clip: float
) -> tuple[Tensor, Tensor]:
    """Return half the squared error of the critic, held near its old values as PPO's policy is.

    Args:
        values: of the critic that is trained.
        old_values: of the critic when the advantages were made.
        returns: that it learns.
        mask: 1 on sampled tokens.
        clip: how far a value may move.

    Returns:
        Losses of tokens, and the share of sampled tokens that the bound held.
    """
    held = torch.clamp(values, old_values - clip, old_values + clip)
    free_error, held_error = (values - returns).square(), (held - returns).square()
    bounded = masked_mean((held_error > free_error).to(values.dtype), mask)
    return 0.5 * torch.maximum(free_error, held_error), bounded


def kl_penalty(log_probs: Tensor, reference: Tensor, estimator: KLEstimator) -> Tensor:
    """Return an estimate of the divergence from a reference at each token.

    With r = reference - log_probs: k1 is -r, k2 is r^2 / 2, k3 is exp(r) - 1 - r
    (Schulman 2020, "Approximating KL divergence"). k1 and k3 have no bias; k3 is never negative.

    The estimator decides the value alone. The gradient is always that of k2, whose expectation is
    the divergence's gradient; that of k1 would be 0, and that of k3 is of the divergence the other
    way round (Tang and Munos 2025, arXiv 2506.09477). verl names these forms k1+ and k3+. It is the
    divergence at each token: that a token leads to later ones that diverge is not counted.

    Args:
        log_probs: of the sampled tokens under the policy.
        reference: under the reference.
        estimator: which.
    """
    # Straight through: k2 less itself is 0, but for its gradient.
    half_square = (log_probs - reference).square() / 2
    return _kl_value(log_probs, reference, estimator).detach() + half_square - half_square.detach()


def _kl_value(log_probs: Tensor, reference: Tensor, estimator: KLEstimator) -> Tensor:
    ratio = reference - log_probs
    if estimator == "k1":
        return -ratio
    if estimator == "k2":
        return ratio.square() / 2
    if estimator == "k3":
        held = ratio.clamp(-_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO)
        return torch.expm1(held) - held
    raise ValueError(f"unknown estimator {estimator!r}; choose one of: {', '.join(KL_ESTIMATORS)}")

"""Policy losses, the critic's loss and the KL penalty, per token.

Shapes: (sequences, tokens) unless stated otherwise; `mask` is 1 on sampled tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragen_starpo.algorithms.masked import masked_mean
from ragen_starpo.algorithms.registry import KL_ESTIMATORS, KLEstimator, loss

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    from ragen_starpo.algorithms.lazy_torch import Tensor, torch

MAX_LOG_RATIO = 20.0
"""Bound of log-ratios, so that their exponential does not overflow."""


@loss(
    "ppo",
    formula="-min(r A, clip(r, 1 - `clip_low`, 1 + `clip_high`) A), at most -`dual_clip` A for "
    "A < 0",
    paper="1707.06347",
    verl="vanilla",
)
def ppo_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    dual_clip: float | None = 3.0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the clipped surrogate loss of each token (PPO, arXiv 1707.06347, eq. 7).

    Args:
        log_probs: Log-probabilities of the sampled tokens under the policy in training.
        old_log_probs: Log-probabilities under the policy that sampled them.
        advantages: Advantages of the tokens.
        mask: 1 on sampled tokens.
        clip_low: The ratio's gradient ends below 1 - clip_low.
        clip_high: The ratio's gradient ends above 1 + clip_high; larger than `clip_low` in
            clip-higher (DAPO, arXiv 2503.14476, section 3.1).
        dual_clip: Bound of the ratio at negative advantages (dual-clip PPO, arXiv 1912.09729,
            eq. 5); None for no bound.

    Returns:
        The losses, and `clip_fraction` and `dual_clip_fraction`: the fractions of sampled tokens
        whose gradient the clip range and the dual clip ended.
    """
    ratio = torch.exp(compute_log_ratio(log_probs, old_log_probs, mask))
    losses, is_clipped = clip_surrogate(ratio, advantages, clip_low, clip_high)
    clip_fraction = masked_mean(is_clipped.to(losses.dtype), mask)
    dual_clip_fraction = torch.zeros_like(clip_fraction)
    if dual_clip is not None:
        bound = -advantages * dual_clip
        is_bounded = (advantages < 0) & (losses > bound)
        dual_clip_fraction = masked_mean(is_bounded.to(losses.dtype), mask)
        losses = torch.where(is_bounded, bound, losses)
    return losses, {"clip_fraction": clip_fraction, "dual_clip_fraction": dual_clip_fraction}


@loss(
    "cispo",
    formula="-clip(r, 1 - `clip_low`, 1 + `clip_high`) A log p, the clipped ratio without gradient",
    paper="2506.13585",
    verl="cispo",
)
def cispo_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the log-probability of each token times its clipped ratio (CISPO, arXiv 2506.13585).

    No token loses its gradient: a clip bounds a token's weight.

    Returns:
        The losses, and `clip_fraction`, the fraction of sampled tokens whose ratio was clipped.
    """
    ratio = torch.exp(compute_log_ratio(log_probs.detach(), old_log_probs, mask))
    weight = ratio.clamp(1 - clip_low, 1 + clip_high)
    losses = -advantages * weight * torch.where(mask.bool(), log_probs, 0.0)
    return losses, {"clip_fraction": masked_mean((ratio != weight).to(losses.dtype), mask)}


def clip_surrogate(
    ratio: Tensor, advantages: Tensor, clip_low: float, clip_high: float
) -> tuple[Tensor, Tensor]:
    """Return the clipped surrogate losses, and True on tokens whose gradient the clip ended."""
    unclipped = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - clip_low, 1 + clip_high)
    return torch.maximum(unclipped, clipped), clipped > unclipped


def compute_log_ratio(log_probs: Tensor, old_log_probs: Tensor, mask: Tensor) -> Tensor:
    """Compute new minus old log-probabilities, bounded, and 0 where the mask is 0."""
    log_ratio = torch.where(mask.bool(), log_probs - old_log_probs, 0.0)
    return log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)


def value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, clip: float
) -> tuple[Tensor, Tensor]:
    """Compute half the squared error of the critic, clipped near its old values as in PPO.

    Args:
        values: Values of the critic in training.
        old_values: Values that the advantages were computed from.
        returns: Targets.
        mask: 1 on sampled tokens.
        clip: The largest change of a value.

    Returns:
        The losses, and the fraction of sampled tokens whose gradient the clip range ended.
    """
    clipped = torch.clamp(values, old_values - clip, old_values + clip)
    unclipped_error, clipped_error = (values - returns).square(), (clipped - returns).square()
    clip_fraction = masked_mean((clipped_error > unclipped_error).to(values.dtype), mask)
    return 0.5 * torch.maximum(unclipped_error, clipped_error), clip_fraction


def kl_penalty(log_probs: Tensor, reference: Tensor, estimator: KLEstimator) -> Tensor:
    """Estimate the KL divergence from a reference policy at each token.

    With r = reference - log_probs: k1 is -r, k2 is r^2 / 2, k3 is exp(r) - 1 - r
    (Schulman 2020, "Approximating KL divergence"), and abs is |r|. k1 and k3 are unbiased; all but
    k1 are never negative.

    The estimator decides the value alone. The gradient is always that of k2, whose expectation is
    the gradient of the KL divergence. The gradient of k1 has expectation 0, and that of k3 is of
    the reversed divergence (Tang and Munos 2025, arXiv 2506.09477). verl calls these forms k1+ and
    k3+. Expectations are over the policy's own tokens; multiply by the ratio of probabilities for
    those of another policy. A token's effect on the divergence of later tokens is not counted.

    Args:
        log_probs: Log-probabilities of the sampled tokens under the policy.
        reference: Log-probabilities under the reference policy.
        estimator: `k1`, `k2`, `k3` or `abs`.
    """
    # Straight through: k2 minus itself is 0, but has a gradient.
    half_square = (log_probs - reference).square() / 2
    return _kl_value(log_probs, reference, estimator).detach() + half_square - half_square.detach()


def _kl_value(log_probs: Tensor, reference: Tensor, estimator: KLEstimator) -> Tensor:
    log_ratio = reference - log_probs
    if estimator == "k1":
        return -log_ratio
    if estimator == "k2":
        return log_ratio.square() / 2
    if estimator == "abs":
        return log_ratio.abs()
    if estimator == "k3":
        bounded = log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
        return torch.expm1(bounded) - bounded
    raise ValueError(f"unknown estimator {estimator!r}; choose one of: {', '.join(KL_ESTIMATORS)}")

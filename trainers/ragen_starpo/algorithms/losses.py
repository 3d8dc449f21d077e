"""Policy losses, the critic's loss and the KL penalty, per token.

Shapes: (sequences, tokens) unless stated otherwise; `mask` is 1 on sampled tokens. `sequences`
numbers the sequences of a ratio: equal on the tokens of one, all in one row, and rising along it.

`log_probs` are those of the sampled tokens under the policy in training, and `old_log_probs` under
the policy that sampled them. A policy loss returns the losses of tokens, and metrics by name.
"""

from __future__ import annotations

from ragen_starpo.algorithms.lazy_torch import Tensor, torch
from ragen_starpo.algorithms.masked import masked_mean
from ragen_starpo.algorithms.registry import KL_ESTIMATORS, KLEstimator, loss

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

    `clip_high` is larger than `clip_low` in clip-higher (DAPO, arXiv 2503.14476, section 3.1).
    `dual_clip` bounds the ratio at negative advantages (arXiv 1912.09729, eq. 5). Metrics are the
    fractions of sampled tokens whose gradient the clip range and the dual clip ended.
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

    No token loses its gradient: a clip bounds a token's weight. The metric is the fraction of
    sampled tokens whose ratio was clipped.
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

    `clip` is the largest change of a value. Returns the losses, and the fraction of sampled tokens
    whose gradient the clip range ended.
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


@loss(
    "gspo",
    formula="-min(s A, clip(s, 1 - `clip_low`, 1 + `clip_high`) A), s = exp(mean of log r over the "
    "sequence)",
    paper="2507.18071",
    verl="gspo",
)
def gspo_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    sequences: Tensor,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the loss of each token with the length-normalised ratio of its sequence.

    This is the paper's GSPO-token (arXiv 2507.18071, eq. 13), so advantages may differ within a
    sequence. All its tokens have one ratio, and those whose advantages have one sign are clipped
    together. Ratios are closer to 1 than those of tokens: the paper's clip range is 3e-4 and 4e-4.

    Returns:
        The losses, and `clip_fraction`, the fraction of sampled tokens whose gradient the clip
        range ended.
    """
    log_ratio = compute_log_ratio(log_probs.detach(), old_log_probs, mask)
    mean = mean_over_sequences(log_ratio, mask, sequences).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    # The log-probability minus itself is 0, but has a gradient.
    own = torch.where(mask.bool(), log_probs, 0.0)
    ratio = torch.exp(mean + own - own.detach())
    losses, is_clipped = clip_surrogate(ratio, advantages, clip_low, clip_high)
    return losses, {"clip_fraction": masked_mean(is_clipped.to(losses.dtype), mask)}


def mean_over_sequences(values: Tensor, mask: Tensor, sequences: Tensor) -> Tensor:
    """Return for each token the mean of its sequence's sampled tokens.

    Tokens that were not sampled may have any number in `sequences`.
    """
    # Every token after a sequence's first counts as its own, so that gaps do not divide it.
    filled = torch.where(mask.bool(), sequences, -1).cummax(-1).values
    starts = torch.cat([torch.ones_like(filled[:, :1]), filled.diff(dim=-1).ne(0)], -1)
    place = starts.flatten().cumsum(0) - 1
    zeros, sampled = torch.zeros_like(values.flatten()), mask.to(values.dtype)
    sums = zeros.scatter_add(0, place, (values * sampled).flatten())
    counts = zeros.scatter_add(0, place, sampled.flatten())
    return (sums / counts.clamp(min=1.0))[place].view_as(values)

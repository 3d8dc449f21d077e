"""Policy losses that hold back the tokens by which entropy falls most (arXiv 2505.22617).

The entropy falls with the covariance of log-probabilities and advantages. A token's part of it is
c = (log p - mean) (A - mean), with means over the sampled tokens of the given rows. As in verl,
these are the rows of a micro-batch, so here the results depend on its size.

Shapes as in `losses`.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from ragen_starpo.algorithms.lazy_torch import Tensor, torch
from ragen_starpo.algorithms.losses import clip_surrogate, compute_log_ratio
from ragen_starpo.algorithms.masked import masked_mean
from ragen_starpo.algorithms.registry import loss


def _check_bounds(given: tuple[float, float]) -> tuple[float, float]:
    if not given[0] < given[1]:
        raise ValueError(f"must be a lower and a higher number, got {list(given)}")
    return given


Fraction: TypeAlias = Annotated[float, Field(gt=0, le=1)]
Bounds: TypeAlias = Annotated[tuple[float, float], AfterValidator(_check_bounds)]


@loss(
    "clip-cov",
    formula="ppo without dual clip; 0 on a random `fraction` of tokens with c within `bounds`",
    paper="2505.22617",
    verl="clip_cov",
)
def clip_cov_loss(  # noqa: PLR0913, PLR0917  # each setting is one
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    noise: Tensor,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    fraction: Fraction = 2e-4,
    bounds: Bounds = (1.0, 5.0),
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the clipped loss, without a gradient on some tokens of high covariance.

    The tokens with the lowest `noise` are chosen: at most a `fraction` of the sampled tokens, but
    at least one, with a covariance within `bounds` and a ratio that is not clipped. Metrics are the
    fractions of sampled tokens whose gradient the clip range ended, and which were chosen.
    """
    ratio = torch.exp(compute_log_ratio(log_probs, old_log_probs, mask))
    losses, is_clipped = clip_surrogate(ratio, advantages, clip_low, clip_high)
    covariance = find_covariance(log_probs, advantages, mask)
    is_eligible = (covariance > bounds[0]) & (covariance < bounds[1]) & ~is_clipped & mask.bool()
    is_chosen = choose_lowest(noise, is_eligible, fraction, mask)
    return torch.where(is_chosen, 0.0, losses), {
        "clip_fraction": masked_mean(is_clipped.to(losses.dtype), mask),
        "covariance_fraction": masked_mean(is_chosen.to(losses.dtype), mask),
    }


@loss(
    "kl-cov",
    formula="-r A, plus `weight` abs(log r) on the `fraction` of tokens with the largest c",
    paper="2505.22617",
    verl="kl_cov",
)
def kl_cov_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    fraction: Fraction = 2e-4,
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the surrogate loss, not clipped, with a KL penalty on tokens of high covariance.

    A `fraction` of the sampled tokens, at least one, has the absolute log-ratio of probabilities as
    penalty, times `weight`. The metric is the fraction of sampled tokens with a penalty.
    """
    log_ratio = compute_log_ratio(log_probs, old_log_probs, mask)
    covariance = find_covariance(log_probs, advantages, mask)
    is_chosen = choose_lowest(-covariance, mask.bool(), fraction, mask)
    losses = -advantages * torch.exp(log_ratio)
    losses = losses + torch.where(is_chosen, weight * log_ratio.abs(), 0.0)
    return losses, {"covariance_fraction": masked_mean(is_chosen.to(losses.dtype), mask)}


def find_covariance(log_probs: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
    """Return the part of each sampled token in the covariance of log-probability and advantage."""
    fixed = log_probs.detach()
    centered = advantages - masked_mean(advantages, mask)
    return torch.where(mask.bool(), centered * (fixed - masked_mean(fixed, mask)), 0.0)


def choose_lowest(values: Tensor, is_eligible: Tensor, fraction: float, mask: Tensor) -> Tensor:
    """Return True on the eligible tokens of the lowest values.

    Their number is a fraction of the sampled tokens, rounded down, but at least one.
    """
    count = (fraction * mask.sum().double()).floor().clamp(min=1)
    order = torch.where(is_eligible, values, torch.inf).flatten().argsort(stable=True)
    return is_eligible & (order.argsort() < count).view_as(is_eligible)

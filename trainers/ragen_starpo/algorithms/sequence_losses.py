"""Policy losses whose ratio is that of a whole sequence.

Shapes as in `losses`. `sequences` numbers the sequences: equal on the tokens of one, rising along a
row. All tokens of a sequence are in one row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragen_starpo.algorithms.losses import MAX_LOG_RATIO, clip_surrogate, compute_log_ratio
from ragen_starpo.algorithms.masked import masked_mean
from ragen_starpo.algorithms.registry import loss

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    from ragen_starpo.algorithms.lazy_torch import Tensor, torch


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
    sums = zeros.index_add(0, place, (values * sampled).flatten())
    counts = zeros.index_add(0, place, sampled.flatten())
    return (sums / counts.clamp(min=1.0))[place].view_as(values)

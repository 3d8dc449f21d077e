"""Log-probabilities of tokens from logits, in few large steps."""

from __future__ import annotations

import torch
from torch import Tensor

_AT_ONCE = 1 << 24
"""Logits that are normalised at once, which bounds extra memory."""


def log_probs_of(
    logits: Tensor,
    labels: Tensor,
    inplace_backward: bool = False,  # noqa: ARG001 - verl's name
) -> Tensor:
    """Return the log-probability of each label.

    Args:
        logits: (tokens, vocabulary).
        labels: (tokens,) ids.
        inplace_backward: Unused; verl's function has it.
    """
    rows = max(1, _AT_ONCE // logits.shape[-1])
    # Half precision is too coarse for a sum over a vocabulary.
    norms = torch.cat([torch.logsumexp(part.float(), dim=-1) for part in torch.split(logits, rows)])
    return logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1) - norms

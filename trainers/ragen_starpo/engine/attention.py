"""Causal attention over rows that are padded on the right, in place of transformers' `sdpa`.

No sampled token attends to the padding behind it, so a mask of the padding is useless. It costs a
wait for the device, repeated keys, and the kernels that take no mask.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

ATTENTION = "ragen_causal"  # its name among those of transformers


def use_causal_attention(model: Any) -> None:
    """Switch a model of transformers from `sdpa` to this attention, if its code allows that."""
    if model.config._attn_implementation == "sdpa" and model.is_backend_compatible():  # noqa: SLF001
        model.set_attn_implementation(ATTENTION)


def padded_inputs(ids: Tensor) -> dict[str, Tensor]:
    """Return a model's inputs for (rows, tokens) that are padded on the right.

    Without a mask, transformers would wait for the device to learn whether rows are packed.
    """
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def _make_mask(*, attention_mask: Tensor | None, **options: Any) -> Tensor | None:
    """Return the mask of windows or packed rows, and None for plain causal attention."""
    del attention_mask  # that of `padded_inputs`, or None
    return sdpa_mask(attention_mask=None, **options)


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    groups = getattr(module, "num_key_value_groups", 1)
    if groups > 1 and _needs_equal_heads(query):
        key, value = (one.repeat_interleave(groups, 1) for one in (key, value))
        module = SimpleNamespace(is_causal=getattr(module, "is_causal", True))
    attended: tuple[Tensor, None] = sdpa_attention_forward(
        module, query, key, value, attention_mask, **options
    )
    return attended


def _needs_equal_heads(query: Tensor) -> bool:
    """Return whether no fused kernel takes fewer heads of keys than of queries.

    PyTorch would then compute and keep the probabilities of all pairs of tokens.
    """
    return query.device.type == "cuda" and query.dtype == torch.float32


AttentionInterface.register(ATTENTION, _attend)
AttentionMaskInterface.register(ATTENTION, _make_mask)

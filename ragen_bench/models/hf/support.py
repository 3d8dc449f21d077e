"""Support for rows: the models whose conversations each have a row of keys and values."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from ragen_bench.errors import UserError, described
from ragen_bench.models.hf.cache import ATTENTION, RowCache, logits_of, step_of

_CHANGING_ROPES = {"dynamic", "longrope"}
"""Rotary embeddings whose frequencies depend on the longest conversation of a pass."""
_ENDS = 7, 19, 20
"""After how many tokens each trial pass ends."""
_FAILURES = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""How a model fails that expects another attention."""
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-3}
_TOLERANCE_OF_HALF = 5e-2
"""How far rounding may move logits, as a share of their spread; in 16 bits they have 2 digits."""


def enable_rows(model: Any, ids: list[int]) -> str:
    """Switch a model to the attention of `hf_cache`, if it gives the same logits with it.

    This is tried: the logits of a short conversation, read piece by piece beside another
    one, must be those of a plain pass. Sliding windows and the like show only in long ones, so
    the kinds of its layers are looked at too.

    Args:
        model: on its device, in evaluation mode.
        ids: a conversation; a short one is read several times.

    Returns:
        Why it cannot, in a few words, or "". If it cannot, the model is as it was.

    Raises:
        UserError: if the model cannot be run at all.
    """
    reason = _obstacle(model)
    if reason:
        return reason
    before = model.config._attn_implementation  # noqa: SLF001 (transformers has only the setter)
    ids = (ids * _ENDS[-1])[: _ENDS[-1]]
    try:
        plain = _plain(model, ids)
    except _FAILURES as failure:
        raise UserError(
            f"the model cannot be run on {model.device}: {described(failure)}", exit_code=1
        ) from failure
    model.set_attn_implementation(ATTENTION)
    try:
        by_rows = _by_rows(model, ids)
    except _FAILURES as refusal:
        reason = str(refusal).partition("\n")[0] or type(refusal).__name__
    else:
        error = (by_rows - plain).square().mean().sqrt() / plain.std()
        if not error <= _TOLERANCE.get(model.dtype, _TOLERANCE_OF_HALF):
            reason = "read piece by piece, it answers otherwise"
    if reason:
        model.set_attn_implementation(before)
    return reason


def _obstacle(model: Any) -> str:
    if not model.is_backend_compatible():
        return "its attention cannot be replaced"
    if not {"position_ids", "logits_to_keep"} <= inspect.signature(model.forward).parameters.keys():
        return "its positions cannot be given"
    config = model.config.get_text_config(decoder=True)
    layers = DynamicCache(config=model.config).layers
    if len(layers) != config.num_hidden_layers or any(type(x) is not DynamicLayer for x in layers):
        return "its layers do not all keep all keys and values"
    ropes = getattr(config, "rope_parameters", None) or {}
    if ropes.get("rope_type") in _CHANGING_ROPES:
        return "its positions depend on the length"
    return ""


@torch.inference_mode()
def _plain(model: Any, ids: list[int]) -> torch.Tensor:
    """Return the logits after each trial pass, [passes, vocabulary], by plain passes."""
    device = model.device
    passes = [model(input_ids=torch.tensor([ids[:end]], device=device)) for end in _ENDS]
    return torch.stack([output.logits[0, -1].float() for output in passes])


@torch.inference_mode()
def _by_rows(model: Any, ids: list[int]) -> torch.Tensor:
    """Return the same in pieces, in the second row of two; the first holds the reverse."""
    cache = RowCache(2)
    logits, start = [], 0
    for end in _ENDS:
        new = [ids[start:end][::-1], ids[start:end]]
        step = step_of(cache, [start, start], new, model.device)
        logits.append(logits_of(model, step)[1].float())
        start = end
    return torch.stack(logits)

"""The check that a model supports continuous batching in rows of keys and values."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from ragen_bench.errors import UserError, described
from ragen_bench.models.hf.cache import ATTENTION, RowCache, compute_logits, make_step

_CHANGING_ROPES = {"dynamic", "longrope"}
"""Rotary embeddings whose frequencies depend on the longest conversation of a pass."""
_ENDS = 7, 19, 20
"""Number of tokens at which each trial pass ends."""
_FAILURES = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors of models that expect another attention."""
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-3}
_TOLERANCE_OF_HALF = 5e-2
"""Maximum error of the logits relative to their standard deviation; 16 bits have 2 digits."""


def enable_rows(model: Any, ids: list[int]) -> str:
    """Switch a model to the attention of `cache`, if it gives the same logits with it.

    A short conversation, read in pieces next to another one, must give the logits of a plain pass.
    Sliding windows and the like show only in long conversations, so layer types are checked too.

    Args:
        model: The model of transformers, on its device, in evaluation mode.
        ids: Token ids of a conversation, repeated if it is short.

    Returns:
        Why the model cannot, in a few words, or "". If it cannot, it is unchanged.

    Raises:
        UserError: The model cannot be run at all.
    """
    reason = _find_obstacle(model)
    if reason:
        return reason
    before = model.config._attn_implementation  # noqa: SLF001 (transformers has only the setter)
    ids = (ids * _ENDS[-1])[: _ENDS[-1]]
    try:
        plain = _run_plain(model, ids)
    except _FAILURES as failure:
        raise UserError(
            f"the model cannot be run on {model.device}: {described(failure)}", exit_code=1
        ) from failure
    model.set_attn_implementation(ATTENTION)
    try:
        by_rows = _run_by_rows(model, ids)
    except _FAILURES as refusal:
        reason = str(refusal).partition("\n")[0] or type(refusal).__name__
    else:
        error = (by_rows - plain).square().mean().sqrt() / plain.std()
        if not error <= _TOLERANCE.get(model.dtype, _TOLERANCE_OF_HALF):
            reason = "its logits differ when it reads in pieces"
    if reason:
        model.set_attn_implementation(before)
    return reason


def _find_obstacle(model: Any) -> str:
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
def _run_plain(model: Any, ids: list[int]) -> torch.Tensor:
    """Return the logits after each trial pass, [passes, vocabulary], from plain passes."""
    device = model.device
    passes = [model(input_ids=torch.tensor([ids[:end]], device=device)) for end in _ENDS]
    return torch.stack([output.logits[0, -1].float() for output in passes])


@torch.inference_mode()
def _run_by_rows(model: Any, ids: list[int]) -> torch.Tensor:
    """Return the same in pieces, from the second row of two; the first one has reversed tokens."""
    cache = RowCache(2)
    logits, start = [], 0
    for end in _ENDS:
        new = [ids[start:end][::-1], ids[start:end]]
        step = make_step(cache, [start, start], new, model.device)
        logits.append(compute_logits(model, step)[1].float())
        start = end
    return torch.stack(logits)

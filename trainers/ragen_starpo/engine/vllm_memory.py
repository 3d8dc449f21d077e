"""Memory of vLLM on a GPU: its weights, and the keys and values that it caches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragen_bench.errors import UserError
from ragen_starpo.engine.device_memory import GIB
from ragen_starpo.recipes.recipe import Recipe

if TYPE_CHECKING:
    from ragen_starpo.engine.memory import Placement
    from ragen_starpo.engine.model_memory import ModelMemory

_OVERHEAD, _BATCH = 2 * GIB, 8192
"""Assumed memory of its context and graphs, and its largest batch in tokens, verl's default."""
_A_LOGIT = 28
"""Assumed bytes of a logit while vLLM samples: its profile sorts the logits of all requests."""


def vllm_memory(recipe: Recipe, placement: Placement, policy: ModelMemory, tokens: int) -> int:
    """Return the bytes that vLLM takes of a GPU, on an unknown one those of a cache of `tokens`."""
    parts = _divisor(recipe)
    if placement.cache is not None:
        return policy.base // parts + placement.cache
    if placement.gpu is not None:
        return int(recipe.cluster.memory * placement.gpu)
    return (policy.base + tokens * policy.cache) // parts


def fit_cache(
    recipe: Recipe,
    placement: Placement,
    policy: ModelMemory,
    context: int,
    shape: tuple[int, int],
) -> int | None:
    """Return the bytes of a cache by which vLLM takes its fraction of the GPU; None if unknown.

    `shape` is the micro-batch that `policy` was measured with. UserError if the cache has no room
    for a trajectory of `context` tokens, which vLLM refuses only when it has started.
    """
    memory, parts = recipe.cluster.memory, _divisor(recipe)
    weights, trajectory = policy.base // parts, context * policy.cache // parts
    needed = f"a trajectory of {context:,} tokens takes {trajectory / GIB:.1f}"
    if placement.cache is not None:
        if trajectory > placement.cache:
            raise UserError(
                f"vLLM's kv_cache_memory_bytes are {placement.cache / GIB:.1f} GiB, and {needed}; "
                "raise them, or lower rollouts.context"
            )
        return placement.cache
    if placement.gpu is None:
        return None
    room = int(memory * placement.gpu) - weights
    if trajectory > room:
        raise UserError(
            f"vLLM does not fit: cluster.memory={memory} gives it {(room + weights) / GIB:.1f} "
            f"GiB, its weights take {weights / GIB:.1f}, and {needed}; raise cluster.memory, "
            "lower rollouts.context, or choose a smaller model"
        )
    passes = policy.layer * _BATCH // (shape[0] * shape[1])
    drawn = _A_LOGIT * policy.logits // 4 * (placement.requests or 0)
    cache = room - _OVERHEAD - passes - drawn
    return cache if policy.saved and cache > trajectory else None


def _divisor(recipe: Recipe) -> int:
    """Return by how much vLLM's part of the weights is smaller than all of them in float32."""
    return recipe.cluster.tensor_parallel * (1 if recipe.cluster.dtype == "float32" else 2)

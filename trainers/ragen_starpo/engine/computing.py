"""How a trained model computes: what time and memory it takes, and no figure but by rounding."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragen_starpo.recipes.recipe import Recipe

Device: TypeAlias = Literal["cpu", "cuda"]
Arithmetic: TypeAlias = Literal["float32", "bfloat16"]
_FLASH = "flash_attention_2"


@dataclass(frozen=True)
class Computing:
    """The recipe's settings of computing, settled for a device.

    Attributes:
        tokens: the most that are computed at once, padding included; those of the longest
            trajectory, where that has more. Packed trajectories are put together by their lengths;
            of padded ones there are as many as would fit if all were the longest. None to count
            trajectories.
        packing: whether the rows of a micro-batch are put one behind the other into one row, which
            has no padding; position ids, which begin again at 0, keep them apart in the attention.
        attention: by transformers' name.
        dtype: of the arithmetic; weights and optimiser have float32.
    """

    tokens: int | None = None
    packing: bool = False
    attention: str = "sdpa"
    dtype: Arithmetic = "float32"

    @property
    def mixed_precision(self) -> dict[str, str]:
        """The setting of verl for weights in float32 and this arithmetic."""
        dtype = {"float32": "fp32", "bfloat16": "bf16"}[self.dtype]
        return {"param_dtype": dtype, "reduce_dtype": "fp32", "buffer_dtype": "fp32"}


PLAIN = Computing()


def computing_of(recipe: Recipe, device: Device) -> Computing:
    """Return how a recipe's models compute on a device.

    Rows are packed by `auto` where flash-attention is: it passes over what is between two of them,
    while other attentions compute it and mask it.
    """
    cluster = recipe.cluster
    flash = device == "cuda" and cluster.dtype == "bfloat16" and _flash_attention()
    packing = cluster.packing == "on" or (cluster.packing == "auto" and flash)
    attention = _FLASH if packing and flash else "sdpa"
    return Computing(recipe.micro_batch_tokens, packing, attention, cluster.dtype)


def _flash_attention() -> bool:
    """Return whether the package is installed."""
    return importlib.util.find_spec("flash_attn") is not None

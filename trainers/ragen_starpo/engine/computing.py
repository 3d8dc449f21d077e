"""Where and how a recipe computes; results are the same except for rounding."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, TypeAlias

import torch

from ragen_bench.errors import UserError
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.run_sections import ClusterSettings

Device: TypeAlias = Literal["cpu", "cuda"]
Arithmetic: TypeAlias = Literal["float32", "bfloat16"]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_FLASH = "flash_attention_2"


@dataclass(frozen=True)
class Computing:
    """The recipe's settings of computation, resolved for a device.

    `tokens` limits a micro-batch, padding included, but not below the longest trajectory; None
    to count trajectories. `dtype` is that of the arithmetic; weights and optimiser have
    float32.

    `packing`, by verl alone, concatenates the rows of a micro-batch without padding. Position
    ids, which restart at 0, separate them in the attention. Packed trajectories are grouped by
    length; padded ones are counted as if all were the longest.
    """

    tokens: int | None = None
    packing: bool = False
    attention: str = "sdpa"
    dtype: Arithmetic = "float32"

    @property
    def mixed_precision(self) -> dict[str, str]:
        """Verl's setting for float32 weights with this arithmetic."""
        dtype = {"float32": "fp32", "bfloat16": "bf16"}[self.dtype]
        return {"param_dtype": dtype, "reduce_dtype": "fp32", "buffer_dtype": "fp32"}


PLAIN = Computing()


def computing_of(recipe: Recipe, device: Device) -> Computing:
    """Return how a recipe's models compute on a device.

    `auto` packs rows if flash-attention is available, since other attentions also compute and mask
    what lies between two rows.
    """
    cluster = recipe.cluster
    flash = device == "cuda" and cluster.dtype == "bfloat16" and _has_flash_attention()
    packing = cluster.packing == "on" or (cluster.packing == "auto" and flash)
    attention = _FLASH if packing and flash else "sdpa"
    return Computing(recipe.micro_batch_tokens, packing, attention, cluster.dtype)


def device_here() -> Device:
    """Return the device that this machine trains on."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def check_devices(cluster: ClusterSettings) -> None:
    """Raise UserError if this node has too few GPUs."""
    if cluster.device == "auto":
        return
    gpus = torch.cuda.device_count()
    if gpus < cluster.processes:
        wanted = f"{cluster.processes} GPUs a node" if cluster.processes > 1 else "a GPU"
        raise UserError(
            f"the recipe needs {wanted}, but torch finds {gpus or 'none'} here; use the scale "
            "small, or set cluster.device=auto and cluster.engine=hf"
        )


def check_one_process(cluster: ClusterSettings) -> None:
    """Raise UserError if a recipe cannot run in one process on this machine."""
    check_devices(cluster)
    local = ClusterSettings()
    if cluster.packing == "on":
        raise UserError(
            "cluster.packing=on is for ragen-train verl; one process groups trajectories by length "
            "instead: set cluster.packing=off"
        )
    for name in ("nodes", "processes", "engine", "ahead"):
        value, required = getattr(cluster, name), getattr(local, name)
        if value != required:
            raise UserError(
                f"one process requires cluster.{name}={required}, but the recipe has {value}; use "
                f"ragen-train verl, or set cluster.{name}={required}"
            )


def _has_flash_attention() -> bool:
    return find_spec("flash_attn") is not None

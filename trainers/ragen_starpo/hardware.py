"""Checks a recipe's hardware requirements before anything is loaded."""

from __future__ import annotations

import torch

from ragen_bench.errors import UserError
from ragen_starpo.engine.computing import Device
from ragen_starpo.recipes.sections import ClusterSettings


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
    for name in ("nodes", "processes", "engine", "dtype", "ahead"):
        value, required = getattr(cluster, name), getattr(local, name)
        if value != required:
            raise UserError(
                f"one process requires cluster.{name}={required}, but the recipe has {value}; use "
                f"ragen-train verl, or set cluster.{name}={required}"
            )

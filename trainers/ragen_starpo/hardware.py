"""Checks that the machine has what a recipe computes on, before anything is loaded."""

from __future__ import annotations

import torch

from ragen_bench.errors import UserError
from ragen_starpo.engine.computing import Device
from ragen_starpo.recipes.sections import ClusterSettings


def device_here() -> Device:
    """Return what this machine trains on."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def check_devices(cluster: ClusterSettings) -> None:
    """Check that there are the GPUs that a recipe wants on each node.

    Raises:
        UserError: if there are too few.
    """
    if cluster.device == "auto":
        return
    gpus = torch.cuda.device_count()
    if gpus < cluster.processes:
        wanted = f"{cluster.processes} GPUs a node" if cluster.processes > 1 else "a GPU"
        raise UserError(
            f"the recipe wants {wanted}, and torch finds {gpus or 'none'} here; take one of the "
            "scale small, or set cluster.device=auto and cluster.engine=hf"
        )


def check_one_process(cluster: ClusterSettings) -> None:
    """Check that a recipe can run in one process, and that there is what it runs on.

    Raises:
        UserError: if not.
    """
    check_devices(cluster)
    local = ClusterSettings()
    for name in ("nodes", "processes", "engine", "dtype", "ahead"):
        wanted, has = getattr(cluster, name), getattr(local, name)
        if wanted != has:
            raise UserError(
                f"in one process cluster.{name} is {has}, and the recipe has {wanted}; run it by "
                f"ragen-train verl, or set cluster.{name}={has}"
            )

"""Where a run computes, and whether it can: asked before anything is loaded."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from ragen_bench.errors import UserError


@checked(frozen=True, config=ConfigDict(extra="forbid", strict=False))
class Cluster:
    """Where a run computes. `ragen-train local` takes one process, `hf` and float32 alone.

    Attributes:
        device: `auto` for GPUs where there are any, `gpu` to refuse to run without.
        nodes: machines.
        processes: that train, on each node; on GPUs each has one.
        engine: that samples; `vllm` needs GPUs.
        tensor_parallel: GPUs that hold one copy of the model that vLLM samples from.
        memory: share of a GPU that vLLM takes.
        dtype: that the policy and the critic compute in; weights and optimiser keep float32.
    """

    device: Literal["auto", "gpu"] = "auto"
    nodes: int = 1
    processes: int = 1
    engine: Literal["hf", "vllm"] = "hf"
    tensor_parallel: int = 1
    memory: float = 0.5
    dtype: Literal["float32", "bfloat16"] = "float32"

    def __post_init__(self) -> None:
        for name in ("nodes", "processes", "tensor_parallel"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1, got {getattr(self, name)}")
        if self.engine == "vllm" and self.device != "gpu":
            raise ValueError("engine vllm samples on GPUs; set device=gpu, or engine=hf")
        if self.processes % self.tensor_parallel:
            raise ValueError(
                f"tensor_parallel divides processes, got {self.tensor_parallel} "
                f"and {self.processes}"
            )
        if not 0 < self.memory < 1:
            raise ValueError(f"memory is in (0, 1), got {self.memory}")


def check_devices(cluster: Cluster) -> None:
    """Check that there are the GPUs that a recipe wants on each node.

    Raises:
        UserError: if there are too few.
    """
    if cluster.device == "auto":
        return
    found = torch.cuda.device_count()
    if found < cluster.processes:
        wanted = f"{cluster.processes} GPUs a node" if cluster.processes > 1 else "a GPU"
        raise UserError(
            f"the recipe wants {wanted}, and torch finds {found or 'none'} here; take one of the "
            "scale small, or set cluster.device=auto and cluster.engine=hf"
        )


def check_one_process(cluster: Cluster) -> None:
    """Check that a recipe can run in one process, and that there is what it runs on.

    Raises:
        UserError: if not.
    """
    check_devices(cluster)
    one = Cluster()
    for name in ("nodes", "processes", "engine", "dtype"):
        wanted, has = getattr(cluster, name), getattr(one, name)
        if wanted != has:
            raise UserError(
                f"in one process cluster.{name} is {has}, and the recipe has {wanted}; run it by "
                f"ragen-train verl, or set cluster.{name}={has}"
            )

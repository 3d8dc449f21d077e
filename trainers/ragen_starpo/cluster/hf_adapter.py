"""The trainer's end of `hf` rollouts: hands weights to the server that samples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ray
import torch.distributed
from torch import Tensor
from verl.workers.rollout.base import BaseRollout

from ragen_starpo.cluster.names import server_name


class HFAdapter(BaseRollout):
    """One a process that trains; its server is a process of its own on the same node."""

    async def resume(self, tags: list[str]) -> None:
        """Do nothing: the server keeps its memory."""

    async def release(self) -> None:
        """Do nothing, as `resume`."""

    async def update_weights(
        self,
        weights: Iterable[tuple[str, Tensor]],
        wire_format: str = "named_tensors",  # noqa: ARG002 - verl's name
        global_steps: int | None = None,
        **_: Any,
    ) -> None:
        """Hand over all weights.

        Args:
            weights: by the model's own names, adapters merged.
            wire_format: verl's; whole tensors are the only one that is sent here.
            global_steps: their version.
        """
        taken = {name: tensor.cpu() for name, tensor in weights}
        server = ray.get_actor(server_name(torch.distributed.get_rank()))
        await server.take.remote(taken, global_steps)

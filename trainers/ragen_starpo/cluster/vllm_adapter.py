"""A training process's end of vLLM, which sends the weights.

Importing this module keeps vLLM itself out of the process: verl's end needs one constant of a
module that imports all of it, which takes many seconds.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Generator, Iterable
from typing import Any

import torch
from torch import Tensor

_VLLM = types.ModuleType("verl.third_party.vllm")
_VLLM.VLLM_SLEEP_LEVEL = 2  # type: ignore[attr-defined] # as of vLLM 0.18 on GPUs of NVIDIA
# A process that has vLLM already, as a server has, keeps it.
sys.modules.setdefault(_VLLM.__name__, _VLLM)

from verl.workers.rollout.vllm_rollout.vllm_rollout import ServerAdapter  # noqa: E402

_SMALL = 1 << 20
"""Numbers of a tensor that keeps its dtype: routers, states and norms, some of which vLLM keeps in
float32. It rounds the others itself."""


class VLLMAdapter(ServerAdapter):
    """verl's end of vLLM, with large weights in the engine's dtype: half the bytes in 16 bits."""

    async def update_weights(self, weights: Any, *arguments: Any, **settings: Any) -> None:
        """Send all weights, pairs of name and tensor; vLLM would round them to the same values."""
        cast = cast_weights(weights, self.config.dtype)
        await super().update_weights(cast, *arguments, **settings)


def cast_weights(
    weights: Iterable[tuple[str, Tensor]], dtype: str
) -> Generator[tuple[str, Tensor], None, None]:
    """Yield weights in a dtype by its name; small tensors and those of integers keep theirs."""
    wanted: torch.dtype = getattr(torch, dtype)
    for name, tensor in weights:
        is_cast = tensor.is_floating_point() and tensor.numel() > _SMALL
        yield name, tensor.to(wanted) if is_cast else tensor

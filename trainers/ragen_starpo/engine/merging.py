"""A model's full weights, with adapters merged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor
from verl.utils.device import get_device_id

_BASE, _ADAPTER = ".base_layer.", ".lora_"


def merged_weights(module: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield copies of all weights by the model's own names, one full tensor at a time.

    Adapters are merged: W + B A alpha / rank (LoRA, arXiv 2106.09685, section 4.1). verl's own
    merge omits layers outside its FSDP units and returns bfloat16. All ranks of a sharded
    model, an engine's module with DTensors, must call it, since each tensor is gathered.
    """
    state = module.state_dict()
    adapters = getattr(module, "peft_config", None)
    scale = adapters["default"].lora_alpha / adapters["default"].r if adapters else 0.0
    for name, tensor in state.items():
        layer, base, kind = name.partition(_BASE)
        if _ADAPTER in name:
            continue
        weight = _gather(tensor)
        if base and kind == "weight":
            down, up = (_gather(state[f"{layer}.lora_{half}.default.weight"]) for half in "AB")
            weight += up @ down * scale
        yield name.removeprefix("base_model.model.").replace(_BASE, "."), weight


def _gather(tensor: Tensor) -> Tensor:
    """Return a copy on the engine's device, gathered from its shards."""
    here = tensor.detach().to(get_device_id())
    return (here.full_tensor() if hasattr(here, "full_tensor") else here).clone()

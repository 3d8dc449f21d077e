"""The CPU as a platform of verl. Importing this module imports verl and registers it."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry


class _CpuModule(types.ModuleType):
    """`torch.cpu` with what verl asks of every device's module."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    def max_memory_allocated(self) -> int:
        """Bytes of a device's own memory: 0."""
        return 0

    max_memory_reserved = memory_allocated = memory_reserved = max_memory_allocated

    def mem_get_info(self) -> tuple[int, int]:
        """Free and all bytes of a device's own memory."""
        return 0, 0

    def get_device_name(self) -> str:
        """Name the device; verl looks up operations a second by it, and knows none of a CPU."""
        return "CPU"

    def empty_cache(self) -> None:
        """Do nothing: a CPU keeps none."""

    def set_rng_state(self, state: torch.Tensor) -> None:
        """Set torch's generator: verl restores it by the device's name too."""
        torch.set_rng_state(state)


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):
    """Answers for a host without accelerator, see verl's `PlatformBase` for each question."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _CpuModule("torch.cpu")

    def is_available(self) -> bool:
        """Return True: every host has one."""
        return True

    def current_device(self) -> torch.device:  # type: ignore[override]
        """Return the device itself: verl moves tensors to what it gets, and 0 would be a GPU."""
        return torch.device("cpu")

    def device_count(self) -> int:
        """Return 1."""
        return 1

    def set_device(self, device_index: int) -> None:
        """Do nothing: there is one device."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Do nothing: work on the CPU is complete when its call returns."""

    def manual_seed(self, seed: int) -> None:
        """Do nothing: torch's own seed is the CPU's."""

    def manual_seed_all(self, seed: int) -> None:
        """Do nothing, as `manual_seed`."""

    def set_allocator_settings(self, settings: str) -> None:
        """Do nothing: a CPU's is not set."""

    def empty_cache(self) -> None:
        """Do nothing: a CPU keeps none."""

    def get_device_capability(
        self,
        device_index: int = 0,  # noqa: ARG002 - verl's name
    ) -> tuple[int | None, int | None]:
        """Return (None, None)."""
        return None, None

    def communication_backend_name(self) -> str:
        """Return the backend of process groups on the CPU."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Return the variable that verl reads device lists from; it is not set on a CPU host."""
        return "CUDA_VISIBLE_DEVICES"

    @contextlib.contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:  # noqa: ARG002 - verl's name
        """Mark nothing."""
        yield

    def profiler_start(self) -> None:
        """Do nothing."""

    def profiler_stop(self) -> None:
        """Do nothing."""

    def ray_resource_name(self) -> str:
        """Return the resource that Ray hands out; on CPU hosts its number is only a count."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """Return none."""
        return []

    def is_ipc_supported(self) -> bool:
        """Return False: tensors are not shared between processes."""
        return False

    def cudart(self) -> None:
        """Return None: a CPU has no CUDA runtime."""

"""The CPU as a platform of verl. Importing this module imports verl and registers it."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry


class _CpuModule(types.ModuleType):
    """`torch.cpu` with the functions that verl expects of a device's module."""

    def __getattr__(self, name: str) -> object:
        return getattr(torch.cpu, name)

    def max_memory_allocated(self) -> int:
        return 0

    max_memory_reserved = memory_allocated = memory_reserved = max_memory_allocated

    def mem_get_info(self) -> tuple[int, int]:
        return 0, 0

    def get_device_name(self) -> str:
        """Return a name for which verl knows no peak FLOPS."""
        return "CPU"

    def empty_cache(self) -> None:
        pass

    def set_rng_state(self, state: torch.Tensor) -> None:
        """Set torch's generator, which verl restores for each device."""
        torch.set_rng_state(state)


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):
    """A host without accelerator, see verl's `PlatformBase` for each method."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _CpuModule("torch.cpu")

    def is_available(self) -> bool:
        return True

    def current_device(self) -> torch.device:  # type: ignore[override]
        """Return the device instead of an index: verl moves tensors to it, and 0 would be a GPU."""
        return torch.device("cpu")

    def device_count(self) -> int:
        return 1

    def _do_nothing(self, *_: object, **_named: object) -> None:
        """A CPU is synchronous, torch seeds it, and it has no cache or CUDA runtime."""

    set_device = synchronize = manual_seed = manual_seed_all = empty_cache = _do_nothing
    set_allocator_settings = profiler_start = profiler_stop = cudart = _do_nothing

    def get_device_capability(
        self,
        device_index: int = 0,  # noqa: ARG002 - verl's name
    ) -> tuple[int | None, int | None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextlib.contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:  # noqa: ARG002 - verl's name
        yield

    def ray_resource_name(self) -> str:
        """Return Ray's resource; on CPU hosts its number only counts processes."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

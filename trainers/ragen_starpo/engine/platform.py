"""Preparation of verl in this process: its platform, a process group of one, its variables.

With CUDA the platform is verl's own; otherwise it is `ragen_starpo.engine.cpu`. All of it is set
for the whole process: verl has one platform, torch one process group.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.metadata
import os
from collections.abc import Iterator, Mapping

import torch
import torch.distributed
from torch._C._distributed_c10d import HashStore

from ragen_bench.errors import UserError, missing_extra
from ragen_starpo.engine.quiet import import_quietly

SUPPORTED_VERL = "0.9.1"
# verl reads the address of a rendezvous and writes it back; nothing connects to it.
ONE_PROCESS = {
    "WORLD_SIZE": "1",
    "RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "LOCAL_RANK": "0",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "0",
}
"""Variables that verl's workers read when they are made."""


def prepare() -> None:
    """Prepare this process for verl, once; UserError if it is one of several, or lacks verl."""
    _import()
    from verl.plugin.platform import get_platform

    if torch.distributed.is_initialized():
        if torch.distributed.get_world_size() != 1:
            raise UserError("this trainer runs in one process; start it without torchrun")
        return
    platform = get_platform()
    backend = platform.communication_backend_name()
    # verl's own call would name the CPU's backend twice, which torch refuses.
    if platform.device_name != "cpu":
        backend = f"cpu:gloo,{platform.device_name}:{backend}"
    # Without a port, with its store in memory.
    torch.distributed.init_process_group(backend, store=HashStore(), rank=0, world_size=1)
    atexit.register(release)


def release() -> None:
    """Leave the process group; existing workers cannot be used afterwards."""
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def check_version() -> None:
    """Raise UserError if another version of verl than the supported one is installed."""
    installed = importlib.metadata.version("verl")
    if installed != SUPPORTED_VERL:
        raise UserError(
            f"verl {installed} is installed, and {SUPPORTED_VERL} is supported: pip install "
            f"verl=={SUPPORTED_VERL}"
        )


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, and at the end restore all, also those that a library changed."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


@functools.cache
def _import() -> None:
    try:
        check_version()
        import_quietly("verl.plugin.platform")
        from verl.plugin.platform import set_platform

        from ragen_starpo.engine.cpu import CpuPlatform

        # verl chooses a platform when it is first asked for one.
        if not torch.cuda.is_available():
            set_platform(CpuPlatform())
        import_quietly("verl.workers.engine")
        import_quietly("verl.workers.engine_workers")
    except ImportError as error:
        raise missing_extra(error, "train") from error

"""Free memory of this machine and its GPUs."""

from __future__ import annotations

import logging
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ragen_bench.errors import described

LOG = logging.getLogger("ragen_starpo.devices")
GIB, _MIB = 1 << 30, 1 << 20
_CGROUPS, _HOST = Path("/sys/fs/cgroup"), Path("/proc")
_V1 = "memory.limit_in_bytes", "memory.usage_in_bytes"
_V2 = "memory.max", "memory.current"


def free_memory() -> int | None:
    """Return the bytes that this process can still take of its GPU, or else of the machine.

    What torch's allocator keeps of freed tensors, as of an earlier run in this process, is free.
    """
    import torch

    if not torch.cuda.is_available():
        return host_memory()
    unused = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    return int(torch.cuda.mem_get_info()[0] + unused)


def host_memory() -> int | None:
    """Return the bytes that this process can still take: of the machine, and of its cgroups.

    None where Linux's files are missing.
    """
    try:
        lines = (_HOST / "meminfo").read_text("ascii").splitlines()
        [free] = [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")]
        groups = (_HOST / "self/cgroup").read_text().splitlines()
    except (OSError, ValueError):
        return None
    found = [free]
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        # The first version of groups has a folder for each controller.
        root, names = (_CGROUPS / "memory", _V1) if controllers else (_CGROUPS, _V2)
        group = root / path.strip("/")
        # A container may see its own group at the root.
        lefts = (_find_free(one, *names) for one in (group, *group.parents))
        found += [left for left in lefts if left is not None]
    return min(found)


def _find_free(group: Path, limit: str, usage: str) -> int | None:
    """Return the bytes that a group may still take, its file cache included."""
    try:
        allowed, used = (int((group / name).read_text()) for name in (limit, usage))
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # no such group, or "max"
        return None
    cached = int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
    return max(0, allowed - used + cached)


@dataclass(frozen=True)
class Gpu:
    """Free and total bytes of a GPU, and its compute capability, 9.0 for an H100."""

    free: int
    total: int
    capability: float


def find_gpus() -> list[Gpu]:
    """Return the visible GPUs of this machine; none, and a warning, if they cannot be queried.

    By `nvidia-smi`, since torch would open a context on each.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    command = ["nvidia-smi", "--query-gpu=memory.free,memory.total,compute_cap"]
    command += ["--format=csv,noheader,nounits", *([f"--id={visible}"] if visible else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
        rows = [line.split(",") for line in done.stdout.splitlines()]
        return [Gpu(int(row[0]) * _MIB, int(row[1]) * _MIB, float(row[2])) for row in rows]
    except (ValueError, IndexError):  # "[N/A]", as of a part of a GPU
        reason = f"nvidia-smi reports {done.stdout.strip()!r}"
    except (OSError, subprocess.SubprocessError) as error:
        reason = described(error)
    LOG.warning("free memory and compute capability of the GPUs are not checked: %s", reason)
    return []

"""Provenance of a run: versions of packages, and the machine."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ragen_bench.json_types import JsonObject
from ragen_bench.runs.differences import brief

_PACKAGES = ("ragen-bench", "gymnasium", "numpy", "torch", "transformers", "tokenizers", "vllm")
_CPUINFO = Path("/proc/cpuinfo")
_LONGEST = 100
"""Maximum number of characters of a value in a leaderboard entry."""


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that responses may depend on."""
    installed = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def machine() -> dict[str, str]:
    """Return the operating system, the CPU, the number of threads, and the GPU.

    Call it when the model is loaded: threads and GPU are PyTorch's if it is imported, else the
    threads are the CPUs of this process.
    """
    libc = " ".join(platform.libc_ver())
    lines = _CPUINFO.read_text("utf-8", "replace").splitlines() if _CPUINFO.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    has_affinity = hasattr(os, "sched_getaffinity")
    description = {
        "os": f"{platform.system()} {platform.machine()} {libc}".strip(),
        "cpu": next(names, "") or platform.processor() or platform.machine(),
        "threads": str(len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        description["threads"] = str(torch.get_num_threads())
        if torch.cuda.is_available():
            description["gpu"] = torch.cuda.get_device_name()
    return {name: value[:_LONGEST] for name, value in description.items()}


def describe_differences(there: JsonObject, here: JsonObject) -> list[str]:
    """Return the differences of a run.json, maybe an older one, in packages and machine."""
    return [
        f"{name}: {brief(there[part][name])} there, {brief(here[part][name])} here"
        for part in ("versions", "machine")
        for name in here[part]
        if name in there.get(part, {}) and there[part][name] != here[part][name]
    ]

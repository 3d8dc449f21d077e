"""Provenance of a run: versions of packages, and the machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ragen_bench.runs.differences import brief

_PACKAGES = ("ragen-bench", "gymnasium", "numpy", "torch", "transformers", "tokenizers", "vllm")
_CPUINFO = Path("/proc/cpuinfo")
_LONGEST = 100
"""Characters of a value: as many as an entry of the leaderboard may have."""


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that answers may depend on."""
    installed = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def machine() -> dict[str, str]:
    """Return the operating system, the CPU, and how many threads compute; GPUs where PyTorch is.

    To be called when the model is loaded: the threads are PyTorch's if it is there, else as many
    as there are CPUs for this process.
    """
    libc = " ".join(platform.libc_ver())
    description = {
        "os": f"{platform.system()} {platform.machine()} {libc}".strip(),
        "cpu": _cpu(),
        "threads": str(_cpus()),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        description["threads"] = str(torch.get_num_threads())
        if torch.cuda.is_available():
            description["gpu"] = torch.cuda.get_device_name()
    return {name: value[:_LONGEST] for name, value in description.items()}


def otherwise(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return what differs between two configurations of one run in packages and machine.

    Args:
        there: the content of run.json, which may be of a version that kept less.
        here: what run.json would hold now.
    """
    return [
        f"{name}: {brief(there[part][name])} there, {brief(here[part][name])} here"
        for part in ("versions", "machine")
        for name in here[part]
        if name in there.get(part, {}) and there[part][name] != here[part][name]
    ]


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu() -> str:
    """Return the CPU's name as its maker has it, where the system says so."""
    lines = _CPUINFO.read_text("utf-8", "replace").splitlines() if _CPUINFO.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()

"""Measurements of the smoke test: seconds, operations, device and commit."""

from __future__ import annotations

import importlib.metadata
import math
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch

from ragen_bench.errors import UserError

T = TypeVar("T")
_HOPPER = {"float32": 66.9e12, "bfloat16": 989.4e12}
PEAKS = {"H100": _HOPPER, "H200": _HOPPER}
"""Floating-point operations a second without sparsity, as the vendor names them of SXM parts."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of a function and its seconds, including the device's work."""
    finish: Callable[[], None] = torch.cuda.synchronize if torch.cuda.is_available() else _nothing
    finish()
    start = time.perf_counter()
    found = work()
    finish()
    return found, time.perf_counter() - start


def _nothing() -> None:
    """A CPU needs no synchronisation."""


def training_flops(parameters: int, config: dict[str, Any], attention: torch.Tensor) -> float:
    """Return the operations of one update: 6 N for each token, and the attention's own.

    After PaLM (arXiv 2204.02311, appendix B), where the attention of a token over T others costs
    12 L d T; padding does not count, as nothing is learned from it.

    Args:
        parameters: N, with the embedding counted once.
        config: Configuration of the model.
        attention: (trajectories, tokens), 1 on tokens.
    """
    lengths = attention.sum(1).double()
    heads = config["num_attention_heads"]
    width: int = heads * (config.get("head_dim") or config["hidden_size"] // heads)
    own: float = 12 * config["num_hidden_layers"] * width * float((lengths**2).sum())
    return 6 * parameters * float(lengths.sum()) + own


def matmul_speed(dtype: str) -> float:
    """Return the operations a second of a large product of random matrices, the median of five."""
    size = 8192 if torch.cuda.is_available() else 512
    device_name = "cuda" if torch.cuda.is_available() else "cpu"
    matrix = torch.randn(size, size, device=device_name, dtype=DTYPES[dtype]) / math.sqrt(size)
    matrix @ matrix
    seconds = [timed(lambda: matrix @ matrix)[1] for _ in range(5)]
    return float(2 * size**3 / statistics.median(seconds))


def peak_of(name: str) -> dict[str, float] | None:
    """Return the vendor's peaks of a device by arithmetic, if they are known."""
    return next((peaks for part, peaks in PEAKS.items() if part in name), None)


def memory_taken() -> int | None:
    """Return the most bytes of the GPU's memory since the last call, None without a GPU."""
    if not torch.cuda.is_available():
        return None
    taken = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    return taken


def device() -> dict[str, Any]:
    """Return the name and properties of the device."""
    if torch.cuda.is_available():
        found = torch.cuda.get_device_properties(0)
        return {"name": found.name, "memory": found.total_memory, "cuda": torch.version.cuda}
    return {"name": f"{platform.machine()} CPU, {torch.get_num_threads()} threads"}


def version(package: str) -> str:
    """Return a package's version."""
    return importlib.metadata.version(package)


def commit_here() -> str:
    """Return the commit of the checkout that this file lies in.

    Raises:
        UserError: If it is not a git checkout.
    """
    command = [
        "git",
        "-C",
        str(Path(__file__).parent),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
    ]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError("git cannot read the commit here; add --commit") from error

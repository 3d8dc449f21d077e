"""What the smoke measures: seconds, operations, and on what and of which commit."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch

from ragen_bench.errors import UserError

T = TypeVar("T")
PEAKS = {"H100": 66.9e12, "H200": 66.9e12}
"""Floating-point operations a second in float32 without sparsity, as the vendor names them."""


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what comes of a piece of work, and its seconds, the device's work included."""
    finish: Callable[[], None] = torch.cuda.synchronize if torch.cuda.is_available() else _nothing
    finish()
    start = time.perf_counter()
    found = work()
    finish()
    return found, time.perf_counter() - start


def _nothing() -> None:
    """A CPU is done when it says so."""


def training_flops(parameters: int, config: dict[str, Any], attention: torch.Tensor) -> float:
    """Return the operations of one update: 6 N for each token, and the attention's own.

    After PaLM (arXiv 2204.02311, appendix B), where the attention of a token over T others costs
    12 L d T; padding does not count, as nothing is learned from it.

    Args:
        parameters: N, the embedding counted once.
        config: of the model.
        attention: (trajectories, tokens) 1 on tokens.
    """
    lengths = attention.sum(1).double()
    heads = config["num_attention_heads"]
    width: int = heads * (config.get("head_dim") or config["hidden_size"] // heads)
    own: float = 12 * config["num_hidden_layers"] * width * float((lengths**2).sum())
    return 6 * parameters * float(lengths.sum()) + own


def matmul_speed() -> float:
    """Return the operations a second of a large matrix product in float32, the best of five."""
    size = 8192 if torch.cuda.is_available() else 1024
    device_name = "cuda" if torch.cuda.is_available() else "cpu"
    matrix = torch.rand(size, size, device=device_name)
    matrix @ matrix
    seconds = [timed(lambda: matrix @ matrix)[1] for _ in range(5)]
    return float(2 * size**3 / min(seconds))


def peak_of(name: str) -> float | None:
    """Return the vendor's peak of a device, if it is known."""
    return next((peak for part, peak in PEAKS.items() if part in name), None)


def device() -> dict[str, Any]:
    """Return what computes."""
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
        UserError: if it is none.
    """
    asked = [
        "git",
        "-C",
        str(Path(__file__).parent),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
    ]
    try:
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError("no git tells the commit here; give --commit") from error

"""Checks of a run by vLLM before anything starts: versions, the model's heads, the GPUs' memory."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet

from ragen_bench.errors import UserError
from ragen_starpo.cluster.platform import SUPPORTED_VERL
from ragen_starpo.engine.folders import check_folder
from ragen_starpo.recipes.sections import ClusterSettings

WITH_VLLM = {
    "verl": f"=={SUPPORTED_VERL}",
    "vllm": "==0.24.0",
    "torch": "==2.11.0",
    "transformers": ">=5.5.3,!=5.6.0,<5.18",
}
"""Versions that run together: this verl fits one vLLM, and that one torch. transformers is newer
than verl asks for: 5.17 has run on a GPU."""


@dataclass(frozen=True)
class _Attention:
    """One of vLLM's attention backends.

    Attributes:
        heads: Description of the head sizes that it takes, in channels.
        takes: Whether it takes a head size.
        dtypes: Its dtypes.
    """

    heads: str
    takes: Callable[[int], bool]
    dtypes: tuple[str, ...] = ("bfloat16",)


_BACKENDS = {
    "FLASH_ATTN": _Attention(
        "multiples of 8 up to 256", lambda size: size % 8 == 0 and size <= 256
    ),
    "FLASHINFER": _Attention("64, 128, 256 and 512", lambda size: size in (64, 128, 256, 512)),
    "TRITON_ATTN": _Attention("at least 32", lambda size: size >= 32, ("float32", "bfloat16")),
}
"""Backends of vLLM 0.24.0 that its own choice tries in this order."""


def check_versions() -> None:
    """Raise UserError if vLLM rollouts lack a package in its supported version."""
    wrong = [
        f"{name}{wanted} ({version or 'not'} installed)"
        for name, wanted in WITH_VLLM.items()
        if (version := _installed_version(name)) is None
        or not SpecifierSet(wanted).contains(version, prereleases=True)
    ]
    if wrong:
        raise UserError(
            f"cluster.engine=vllm needs {' and '.join(wrong)}: in a checkout pip install "
            "-c constraints-train-gpu.txt '.[train-gpu]' in an environment of its own; or set "
            "cluster.engine=hf"
        )


def check_attention(model_dir: Path, dtype: str, chosen: str | None) -> None:
    """Raise UserError if vLLM has no attention for the model's heads in this dtype.

    Args:
        model_dir: Folder of the model.
        dtype: The engine's dtype, `cluster.dtype`.
        chosen: Name of the backend in verl's settings, None for vLLM's own choice.
    """
    if chosen is not None and chosen not in _BACKENDS:
        return
    size = _head_size(model_dir)
    backends = [_BACKENDS[chosen]] if chosen else list(_BACKENDS.values())
    in_dtype = [backend for backend in backends if dtype in backend.dtypes]
    if not in_dtype:
        raise UserError(
            f"vLLM's attention {chosen} does not compute in cluster.dtype={dtype}; set "
            "attention_backend=TRITON_ATTN, or leave it out"
        )
    if size is not None and not any(backend.takes(size) for backend in in_dtype):
        taken = " or ".join(backend.heads for backend in in_dtype)
        raise UserError(
            f"the model's attention heads have {size} channels, and vLLM's {chosen or 'attention'} "
            f"takes {taken} in cluster.dtype={dtype}; choose another model, or set "
            "cluster.engine=hf"
        )


def check_memory(cluster: ClusterSettings) -> None:
    """Raise UserError if other programs leave a GPU of this machine too little memory for vLLM.

    Without `nvidia-smi` the memory is not checked: torch would open a context on each GPU.
    """
    for index, (free, total) in enumerate(_gpu_memory()[: cluster.processes]):
        if free < cluster.memory * total:
            raise UserError(
                f"GPU {index} has {free / 1024:.1f} of {total / 1024:.1f} GiB free, and "
                f"cluster.memory={cluster.memory} gives vLLM {cluster.memory * total / 1024:.1f}; "
                "end the other program on the GPU, or lower cluster.memory"
            )


def _gpu_memory() -> list[tuple[float, float]]:
    """Return the free and total MiB of the visible GPUs; nothing if they cannot be queried."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    command = ["nvidia-smi", "--query-gpu=memory.free,memory.total"]
    command += ["--format=csv,noheader,nounits", *([f"--id={visible}"] if visible else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
        rows = [line.split(",") for line in done.stdout.splitlines()]
        return [(float(free), float(total)) for free, total in rows]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []


def _head_size(model_dir: Path) -> int | None:
    """Return the channels of an attention head; None if the configuration has no such numbers."""
    check_folder(model_dir)
    config = json.loads((model_dir / "config.json").read_text(encoding="utf-8"))
    config = config.get("text_config") or config
    if config.get("head_dim"):
        return int(config["head_dim"])
    try:
        return int(config["hidden_size"]) // int(config["num_attention_heads"])
    except KeyError:
        return None


def _installed_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None

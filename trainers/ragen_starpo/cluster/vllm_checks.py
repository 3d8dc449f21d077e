"""Checks of a run by vLLM before anything starts: versions, the model's heads, the GPUs' memory."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet

from ragen_bench.errors import UserError
from ragen_bench.runs.json_lines import read_whole
from ragen_starpo.engine.device_memory import GIB, Gpu
from ragen_starpo.engine.folders import check_folder
from ragen_starpo.recipes.run_sections import ClusterSettings

SUPPORTED_VERL = "0.9.1"
"""The version of verl, whose engines and queue the trainer changes."""
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
    """One of vLLM's attention backends, with a description of the head sizes that it takes."""

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
_LEAST = 7.5
"""Smallest compute capability of a GPU that PyTorch for CUDA 13 runs on."""


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


def check_attention(model_dir: Path, cluster: ClusterSettings, chosen: str | None) -> None:
    """Raise UserError if vLLM, or its `chosen` backend, has no attention for the model's heads."""
    (heads, size), dtype = _read_heads(model_dir), cluster.dtype
    if heads is not None and heads % cluster.tensor_parallel:
        raise UserError(
            f"the model has {heads} attention heads, which do not divide among the GPUs of "
            f"cluster.tensor_parallel={cluster.tensor_parallel}; set it to a divisor of {heads}"
        )
    if chosen is not None and chosen not in _BACKENDS:
        return
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


def check_gpus(cluster: ClusterSettings, gpus: Sequence[Gpu], chosen: str | None) -> None:
    """Raise UserError if a GPU is too old for the settings, or other programs fill it."""
    for index, gpu in enumerate(gpus):
        least = 8.0 if cluster.dtype == "bfloat16" or chosen == "FLASH_ATTN" else _LEAST
        if gpu.capability < least:
            what = chosen if chosen == "FLASH_ATTN" else f"cluster.dtype={cluster.dtype}"
            advice = "cluster.engine=hf"
            if gpu.capability >= _LEAST:
                advice += ", or cluster.dtype=float32 without attention_backend=FLASH_ATTN"
            raise UserError(
                f"GPU {index} has compute capability {gpu.capability}, and vLLM needs {least} for "
                f"{what}; set {advice}"
            )
        needed = cluster.memory * gpu.total
        if gpu.free < needed:
            raise UserError(
                f"GPU {index} has {gpu.free / GIB:.1f} of {gpu.total / GIB:.1f} GiB free, and "
                f"cluster.memory={cluster.memory} gives vLLM {needed / GIB:.1f}; end the other "
                "program on the GPU, or lower cluster.memory"
            )


def _read_heads(model_dir: Path) -> tuple[int | None, int | None]:
    """Return the number of attention heads, and channels of each, None where unknown."""
    check_folder(model_dir)
    config = read_whole(model_dir / "config.json", "choose another model")
    config = config.get("text_config") or config
    heads, size = config.get("num_attention_heads"), config.get("head_dim")
    if not size and heads and "hidden_size" in config:
        size = config["hidden_size"] // heads
    return heads, size


def _installed_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None

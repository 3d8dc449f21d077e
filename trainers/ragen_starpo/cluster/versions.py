"""The versions that rollouts by vLLM want: this verl fits one vLLM, and that one torch."""

from __future__ import annotations

import importlib.metadata

from packaging.specifiers import SpecifierSet

from ragen_bench.errors import UserError
from ragen_starpo.engine.platform import SUPPORTED_VERL

WITH_VLLM = {
    "verl": f"=={SUPPORTED_VERL}",
    "vllm": "==0.24.0",
    "torch": "==2.11.0",
    "transformers": ">=5.5.3,!=5.6.0,<5.11",
}
"""Packages, and the versions of them that are supported together."""


def check_vllm() -> None:
    """Check that what rollouts by vLLM need is installed, in versions that fit.

    Raises:
        UserError: if not.
    """
    wrong = [
        f"{name}{wanted} ({version or 'not'} installed)"
        for name, wanted in WITH_VLLM.items()
        if (version := _installed(name)) is None
        or not SpecifierSet(wanted).contains(version, prereleases=True)
    ]
    if wrong:
        raise UserError(
            f"cluster.engine=vllm wants {' and '.join(wrong)}: in a checkout pip install "
            "-c constraints-train-gpu.txt '.[train-gpu]' in an environment of its own; or set "
            "cluster.engine=hf"
        )


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None

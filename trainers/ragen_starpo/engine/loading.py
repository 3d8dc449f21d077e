"""Loads a model's folder for training, all its weights or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from ragen_bench.errors import UserError, described

_SHOWN = 3
"""Names of weights in a message; the first tell what is wrong."""


def check_folder(model_dir: Path) -> None:
    """Check that a folder looks like a model's.

    Raises:
        UserError: if it does not.
    """
    if not (model_dir / "config.json").is_file():
        raise UserError(
            f"no model to train in {str(model_dir)!r}: a folder with config.json and "
            "weights in safetensors is needed"
        )


def load_weights(auto_class: Any, model_dir: str, config: Any, new: frozenset[str]) -> Any:
    """Return a model in float32 whose weights all come from a folder.

    transformers fills what a folder lacks with random weights and tells so in a table; a model that
    is trained from there on is not the one that was meant.

    Args:
        auto_class: of transformers.
        model_dir: the folder.
        config: the configuration, which names the attention implementation.
        new: names of weights that the folder need not have; they are drawn from torch's generator.

    Raises:
        UserError: if the folder has not these weights.
    """
    try:
        module, info = auto_class.from_pretrained(
            model_dir,
            config=config,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise UserError(f"no model can be loaded from {model_dir!r}: {described(error)}") from error
    wrong = [
        f"{name} ({list(has)}, not {list(wants)})" for name, has, wants in info["mismatched_keys"]
    ]
    if wrong:
        raise UserError(
            f"weights in {model_dir!r} have other shapes than config.json: {_some(wrong)}"
        )
    missing = sorted(set(info["missing_keys"]) - new)
    if missing:
        raise UserError(f"weights are missing in {model_dir!r}: {_some(missing)}")
    return module


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(sorted(names)[:_SHOWN]) + (f" and {more} more" if more > 0 else "")

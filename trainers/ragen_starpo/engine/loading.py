"""Loading of a model's folder for training, with all its weights or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from ragen_bench.errors import UserError, described

_SHOWN = 3
"""Names of weights in a message."""


def check_folder(model_dir: Path) -> None:
    """Raise UserError if a folder has no config.json, so no model."""
    if not (model_dir / "config.json").is_file():
        raise UserError(
            f"no model to train in {str(model_dir)!r}: a folder with config.json and "
            "weights in safetensors is needed"
        )


def load_weights(auto_class: Any, model_dir: str, config: Any, new: frozenset[str]) -> Any:
    """Return a model in float32 whose weights all come from a folder; UserError if it lacks some.

    transformers fills missing weights with random ones and only prints a table; training would
    then start from another model than the user meant. Weights named in `new` may be missing;
    they are drawn from torch's generator.
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
            f"weights in {model_dir!r} have other shapes than config.json: {_list_some(wrong)}"
        )
    missing = sorted(set(info["missing_keys"]) - new)
    if missing:
        raise UserError(f"weights are missing in {model_dir!r}: {_list_some(missing)}")
    return module


def _list_some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(sorted(names)[:_SHOWN]) + (f" and {more} more" if more > 0 else "")

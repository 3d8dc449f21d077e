"""Models as folders that transformers reads: written, and loaded with all weights or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from ragen_bench.errors import UserError, described
from ragen_bench.models.model_folder import list_files
from ragen_starpo.engine.quiet import libraries_quiet
from ragen_starpo.made_folder import RECORD

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_SHOWN = 3
"""Names of weights in a message."""
_WEIGHTS = {".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx"}


def write_model(
    folder: Path, state: Mapping[str, Tensor], config: PretrainedConfig, model_dir: Path
) -> None:
    """Write a language model's weights, by its own names, to an empty folder.

    Tokenizer, chat template and generation settings are copied byte by byte from `model_dir`,
    the folder it was loaded from.
    """
    # Here, since the driver of a run on Ray only checks folders, and starts seconds sooner.
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    model.load_state_dict(state, assign=True)
    model.tie_weights()
    with libraries_quiet():
        model.save_pretrained(folder)
    for file in model_dir.iterdir():
        weights = file.suffix in _WEIGHTS or file.name.endswith(".index.json")
        if file.is_file() and not weights and file.name not in ("config.json", RECORD):
            shutil.copyfile(file, folder / file.name)


def check_folder(model_dir: Path) -> None:
    """Raise UserError if a folder has no config.json, so no model, or files that lie elsewhere."""
    if not (model_dir / "config.json").is_file():
        raise UserError(
            f"no model to train in {str(model_dir)!r}: a folder with config.json and "
            "weights in safetensors is needed"
        )
    list_files(model_dir)


def load_weights(
    auto_class: Any, model_dir: str, config: PretrainedConfig, new: frozenset[str]
) -> Any:
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
    problems = {
        f"weights in {model_dir!r} have other shapes than config.json": wrong,
        f"weights are missing in {model_dir!r}": set(info["missing_keys"]) - new,
    }
    for problem, names in problems.items():
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            raise UserError(f"{problem}: {', '.join(sorted(names)[:_SHOWN])}{more}")
    return module

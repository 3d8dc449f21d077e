"""Writes models as folders that transformers reads."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from ragen_starpo.engine.quiet import libraries_quiet

RECORD = "ragen-train.json"
"""File that names the command which made a folder; it is not copied to derived folders."""
_WEIGHTS = {".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx"}


def write_model(folder: Path, state: Mapping[str, Tensor], config: Any, model_dir: Path) -> None:
    """Write a language model's weights, by its own names, to an empty folder.

    Tokenizer, chat template and generation settings are copied byte by byte from `model_dir`,
    the folder it was loaded from.
    """
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

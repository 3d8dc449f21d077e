"""Finds or downloads the model that training begins with."""

from __future__ import annotations

from pathlib import Path

from ragen_bench.errors import UserError, described
from ragen_bench.models.bundled import converted_folder

_BUNDLED = "smollm2-135m"
_HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "*.txt", "*.model"]
"""Files that are downloaded from the hub, with the weights in one format only."""


def model_folder(name: str) -> Path:
    """Return the folder of a model: `smollm2-135m`, a folder, or an id on the Hugging Face hub.

    UserError if the bundled model is not installed, or the model does not exist.
    """
    if name == _BUNDLED:
        return converted_folder()
    if Path(name).is_dir():
        return Path(name)
    if name.count("/") == 1 and name[0] not in "./~":
        return _download(name)
    raise UserError(f"there is no folder {name}; give the folder of a model, or {_BUNDLED}")


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=_HUB_FILES))
    except (OSError, ValueError) as error:
        raise UserError(
            f"there is no folder {name}, and it cannot be downloaded from the hub: "
            f"{described(error)}"
        ) from error

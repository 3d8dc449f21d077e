"""The folder of the model that training begins with."""

from __future__ import annotations

from pathlib import Path

from ragen_bench.errors import UserError, described
from ragen_bench.models.bundled import converted_folder

_BUNDLED = "smollm2-135m"
_FETCHED = ["*.json", "*.safetensors", "*.jinja", "*.txt", "*.model"]
"""The files of a model on the hub that are fetched: its weights in one form only."""


def model_folder(name: str) -> Path:
    """Return the folder of a model: of the bundled one, the path itself, or its copy from the hub.

    Raises:
        UserError: if the bundled model is not installed, or there is no such model.
    """
    if name == _BUNDLED:
        return converted_folder()
    if Path(name).is_dir():
        return Path(name)
    if name.count("/") == 1 and name[0] not in "./~":
        return _of_the_hub(name)
    raise UserError(f"there is no folder {name}; give that of a model, or {_BUNDLED}")


def _of_the_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=_FETCHED))
    except (OSError, ValueError) as error:
        raise UserError(
            f"there is no folder {name}, and none of that name comes from the hub: "
            f"{described(error)}"
        ) from error

"""Where a model that training begins with lies."""

from __future__ import annotations

from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.models.bundled import converted_folder

_BUNDLED = "smollm2-135m"


def model_folder(name: str) -> Path:
    """Return the folder of a model: the bundled one, or the path that is named.

    Raises:
        UserError: if the bundled model is not installed, or there is no such folder.
    """
    if name == _BUNDLED:
        return converted_folder()
    if not Path(name).is_dir():
        raise UserError(f"there is no folder {name}; give that of a model, or {_BUNDLED}")
    return Path(name)

"""The folder of the packages' caches."""

from __future__ import annotations

import errno
import os
from pathlib import Path

VARIABLE = "RAGEN_CACHE"
"""Environment variable with the folder; `~/.cache/ragen` by default."""


def cache_folder() -> Path:
    """Return the folder, which need not exist; an OSError for a user without a home directory."""
    if folder := os.environ.get(VARIABLE):
        return Path(folder)
    try:
        return Path.home() / ".cache" / "ragen"
    except RuntimeError:
        message = f"this user has no home directory: name a folder in {VARIABLE}"
        raise FileNotFoundError(errno.ENOENT, message) from None

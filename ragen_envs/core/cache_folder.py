"""The folder of what the packages keep between processes."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "RAGEN_CACHE"
"""Environment variable with the folder; `~/.cache/ragen` by default."""


def cache_folder() -> Path:
    """Return the folder, which need not exist."""
    return Path(os.environ.get(VARIABLE) or Path.home() / ".cache" / "ragen")

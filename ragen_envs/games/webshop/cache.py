"""The cache folder that keeps the indices of large catalogues between processes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

VARIABLE = "RAGEN_CACHE"
"""Names the folder of all of ragen's caches; ~/.cache/ragen if it is not set."""


def cached_folder(name: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder of that name in WebShop's cache; it is made if there is none.

    It appears at once and complete, so that processes that start together do not meet halves:
    each may fill a folder of its own, and the first one that is ready stays.

    Args:
        name: what decides the contents, all of it.
        fill: writes the files into an empty folder.

    Raises:
        ValueError: if it cannot be written.
    """
    root = Path(os.environ.get(VARIABLE) or Path.home() / ".cache" / "ragen") / "webshop"
    folder = root / name
    if folder.is_dir():
        return folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="new-", dir=root))
    except OSError as error:
        raise _no_place(root, error) from None
    try:
        fill(draft)
        draft.rename(folder)
    except OSError as error:
        if not folder.is_dir():
            raise _no_place(root, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _no_place(root: Path, error: OSError) -> ValueError:
    return ValueError(
        f"the search index cannot be kept in {root} ({error.strerror}): "
        f"name a folder for it in {VARIABLE}"
    )

"""Folders and hub names of models: the check of a place, and the hash or revision behind it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError

_HASHED = {".json", ".jinja", ".safetensors", ".bin", ".model", ".txt"}
_CHUNK = 1 << 20


def check_place(name: str) -> None:
    """Check that a name does not point to a folder without a model.

    Raises:
        UserError: if it does.
    """
    folder = Path(name)
    if folder.exists() and not (folder / "config.json").is_file():
        raise UserError(f"{name!r} is not a model folder: it has no config.json")


def content_of(name: str, config: Any) -> dict[str, str]:
    """Return a folder's hash or the hub's revision.

    A folder is read whole, weights included, since a checkpoint may be overwritten by one of the
    same size.

    Args:
        name: a folder, or a name that the hub knows.
        config: the configuration that transformers loaded.
    """
    folder = Path(name)
    if folder.is_dir():
        return {"fingerprint": _fingerprint(folder)}
    return {"revision": str(getattr(config, "_commit_hash", None))}


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(p for p in folder.iterdir() if p.is_file()):
        if file.suffix in _HASHED:
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as content:
                while block := content.read(_CHUNK):
                    digest.update(block)
    return digest.hexdigest()[:16]

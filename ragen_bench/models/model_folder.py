"""Folders and hub names of models: validity, and the hash or revision for the record."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ragen_bench.errors import UserError

_HASHED_SUFFIXES = {".json", ".jinja", ".safetensors", ".bin", ".model", ".txt"}
_CHUNK = 1 << 20


def check_folder(name: str) -> None:
    """Refuse an existing path without config.json."""
    folder = Path(name)
    if folder.exists() and not (folder / "config.json").is_file():
        raise UserError(f"{name!r} is not a model folder: it has no config.json")


def describe_content(name: str, config: object) -> dict[str, str]:
    """Return the hash of a folder's files, weights included, or the hub's revision."""
    folder = Path(name)
    if not folder.is_dir():
        return {"revision": str(getattr(config, "_commit_hash", None))}
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        if file.suffix in _HASHED_SUFFIXES:
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as content:
                while block := content.read(_CHUNK):
                    digest.update(block)
    return {"fingerprint": digest.hexdigest()[:16]}

"""Results that are kept between commands, in the user's cache directory.

A file is used only if it has the code of this user's secret key, so that neither a broken disk nor
another writer changes a result unnoticed. Its name is a hash of the arguments and of the code that
computes the result, so that an edited file of the packages makes all kept results obsolete.
"""

from __future__ import annotations

import hmac
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

import ragen_bench
import ragen_envs
from ragen_bench.json_types import Json
from ragen_bench.visible import write_error
from ragen_envs.core.cache_folder import cache_folder

RECOMPUTE = "RAGEN_RECOMPUTE"
"""Environment variable; with any value, nothing is read from the cache or written to it."""
_KEY_BYTES = _CODE_BYTES = 32
_MAX_BYTES = 1 << 26
"""Size of the cache, above which the results written first are removed."""


_is_ignored = ContextVar("_is_ignored", default=False)


@contextmanager
def ignoring_cache() -> Iterator[None]:
    """Within the block, read nothing from the cache and write nothing to it."""
    token = _is_ignored.set(True)
    try:
        yield
    finally:
        _is_ignored.reset(token)


def fetch(kind: str, arguments: Json, compute: Callable[[], Any]) -> Any:
    """Return a result of JSON values from the cache, or compute and keep it.

    `kind` is a word for the computation; `arguments` are all that the result depends on, besides
    the code of the packages.
    """
    key = None if _is_ignored.get() or os.environ.get(RECOMPUTE) else _key()
    folder = _folder()
    if key is None or folder is None:
        return compute()
    name = json.dumps([kind, arguments, fingerprint_packages()]).encode()
    file = folder / f"{kind}-{sha256(name).hexdigest()[:32]}"
    if (content := _read(file)) is not None:
        code, packed = content[:_CODE_BYTES], content[_CODE_BYTES:]
        if hmac.compare_digest(code, _authenticate(key, name, packed)):
            return json.loads(zlib.decompress(packed))
        write_error(
            f"ragen-bench: {file} is damaged, or another program wrote it; its content is "
            "computed again\n"
        )
    result = compute()
    packed = zlib.compress(json.dumps(result).encode())
    _write(file, _authenticate(key, name, packed) + packed)
    return result


def fingerprint(folder: Path) -> str:
    """Return a hash of the names and contents of the files below a folder, or of one file."""
    files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    contents = []
    for file in files:
        # An editor's lock is a link to nothing, and a draft may go while others are read.
        with suppress(OSError):
            if "__pycache__" not in file.parts and file.is_file():
                digest = sha256(file.read_bytes()).hexdigest()
                contents.append((str(file.relative_to(folder)), digest))
    return sha256(json.dumps(contents).encode()).hexdigest()


@cache
def fingerprint_packages() -> list[str]:
    """Return what distinguishes versions of the code: the packages' files, Python and NumPy."""
    packages = [Path(path) for path in (*ragen_envs.__path__, *ragen_bench.__path__)]
    return [*map(fingerprint, packages), sys.version, np.__version__]


def _key() -> bytes | None:
    """Return the secret key of this user, made at the first use; None if it cannot be kept."""
    # Without a home directory, `Path.home` is a RuntimeError.
    with suppress(OSError, RuntimeError):
        home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        file = Path(home) / "ragen" / "cache.key"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(opened, "wb") as new:
                new.write(os.urandom(_KEY_BYTES))
        key = file.read_bytes()
        return key if len(key) == _KEY_BYTES else None
    return None


def _folder() -> Path | None:
    """Return the folder of the results; None for a user without a home directory."""
    with suppress(OSError):
        return cache_folder() / "results"
    return None


def _authenticate(key: bytes, name: bytes, packed: bytes) -> bytes:
    return hmac.digest(key, sha256(name).digest() + packed, "sha256")


def _read(file: Path) -> bytes | None:
    with suppress(OSError):
        if file.is_file() and file.stat().st_size <= _MAX_BYTES:
            return file.read_bytes()
    return None


def _write(file: Path, content: bytes) -> None:
    """Write a file if the disk permits it, and remove the oldest ones above the maximum size."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile(dir=file.parent, prefix=".", delete=False) as draft:
            draft.write(content)
        Path(draft.name).replace(file)
        kept = [(status.st_mtime_ns, status.st_size, each) for each, status in _statuses(file)]
        total = sum(size for _, size, _ in kept)
        for _, size, each in sorted(kept):
            if total <= _MAX_BYTES:
                return
            each.unlink(missing_ok=True)
            total -= size


def _statuses(file: Path) -> list[tuple[Path, os.stat_result]]:
    return [(each, each.stat()) for each in file.parent.iterdir() if each.is_file()]

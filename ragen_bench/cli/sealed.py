"""`sealed`: what a benchmark host does with the key of a sealed split."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_envs.sealed import KEY_FILE_VARIABLE, key_hash, new_key, read_key_file

_HASH = re.compile(r"[0-9a-f]{64}").fullmatch


def new(file: Path) -> int:
    """Write a fresh key to a file that only its owner may read, and print the key's hash.

    Raises:
        UserError: if there is such a file already: a key that is lost cannot be had again.
    """
    key = new_key()
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UserError(f"{file} exists already; choose another file") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(key + "\n")
    sys.stdout.write(
        f"Key file  {file} (keep it secret until the event is over)\n"
        f"Hash      {key_hash(key)} (publish it now)\n"
        f"Use       {KEY_FILE_VARIABLE}={file} ragen-bench evaluate MODEL --split sealed\n"
    )
    return 0


def show_hash(file: Path) -> int:
    """Print the hash that commits to a key file's key."""
    sys.stdout.write(f"{key_hash(read_key_file(file))}\n")
    return 0


def check(file: Path, published: str) -> int:
    """Say whether a key is the one whose hash was published; return 1 if it is not.

    Raises:
        UserError: if what was published is no hash.
    """
    wanted = published.strip().lower()
    if not _HASH(wanted):
        raise UserError(f"{published!r} is not the hash of a key, which is 64 hex digits")
    found = key_hash(read_key_file(file))
    if found != wanted:
        sys.stdout.write(f"NOT the key: its hash is {found}\n")
        return 1
    sys.stdout.write(f"The key of the hash {found}\n")
    return 0

"""Opens the two files of an entry, and refuses everything else in its directory."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.limits import ENTRY_JSON_BYTES, PACKED_BYTES
from ragen_bench.runs.differences import brief

ENTRY_JSON = "entry.json"
EPISODES = "episodes.jsonl.gz"
MAX_BYTES = {ENTRY_JSON: ENTRY_JSON_BYTES, EPISODES: PACKED_BYTES}
"""Maximum size of each file of an entry."""
_is_directory_name = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}").fullmatch


@dataclass(frozen=True)
class EntryFiles:
    """The open files of an entry, and their sizes in bytes at opening."""

    entry: BinaryIO
    entry_bytes: int
    episodes: BinaryIO
    episodes_bytes: int


@contextmanager
def open_entry(path: Path) -> Iterator[EntryFiles]:
    """Open an entry: a directory with exactly two plain files within the size limits.

    Nothing is read, and no link is followed.

    Raises:
        UserError: if the path does not exist, or the system cannot open without following links.
        EntryError: if the path is not such a directory.
    """
    if not hasattr(os, "O_NOFOLLOW"):
        raise UserError("this system cannot open files without following links; use Linux or macOS")
    name = path.absolute().name
    if not os.path.lexists(path):
        raise UserError(f"{path} does not exist; give the directory of an entry")
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        raise EntryError("is not a directory")
    check_directory_name(name)
    with ExitStack() as stack:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        stack.callback(os.close, directory)
        _refuse_others(directory)
        entry, entry_bytes = _plain_file(ENTRY_JSON, directory, stack)
        episodes, episodes_bytes = _plain_file(EPISODES, directory, stack)
        yield EntryFiles(entry, entry_bytes, episodes, episodes_bytes)


def check_directory_name(name: str) -> None:
    """Check that a directory name is safe in paths, URLs and terminals.

    Raises:
        EntryError: if it is not.
    """
    if not _is_directory_name(name):
        raise EntryError(
            f"is called {brief(name)}; an entry's directory has up to 100 of a-z 0-9 . _ -, a "
            "letter or digit first"
        )


def printable_name(name: str) -> str:
    """Return a directory's name for printing, quoted and escaped if it is not printable."""
    return name if name.isprintable() else brief(name)


def _refuse_others(directory: int) -> None:
    with os.scandir(directory) as items:  # not listdir: there may be millions
        for item in items:
            if item.name not in MAX_BYTES:
                raise EntryError(
                    f"holds {brief(item.name)}; an entry is {ENTRY_JSON} and {EPISODES} alone"
                )


def _plain_file(name: str, directory: int, stack: ExitStack) -> tuple[BinaryIO, int]:
    """Open a file for reading; return it with its size."""
    try:
        _check(name, os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        raise EntryError(f"{name} is missing") from None
    # Non-blocking, and checked again: the file may have become a pipe since.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    file = stack.enter_context(os.fdopen(os.open(name, flags, dir_fd=directory), "rb"))
    return file, _check(name, os.fstat(file.fileno()))


def _check(name: str, status: os.stat_result) -> int:
    if not stat.S_ISREG(status.st_mode):
        kind = "a link" if stat.S_ISLNK(status.st_mode) else "not a plain file"
        raise EntryError(f"{name} is {kind}")
    if status.st_size > MAX_BYTES[name]:
        raise EntryError(f"{name} has {status.st_size:,} bytes; the maximum is {MAX_BYTES[name]:,}")
    return status.st_size

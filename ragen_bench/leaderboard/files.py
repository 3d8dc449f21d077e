"""Opens the two files of an entry, and nothing else that a stranger may have put there."""

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
MOST_BYTES = {ENTRY_JSON: ENTRY_JSON_BYTES, EPISODES: PACKED_BYTES}
"""Of each file of an entry."""
_DIRECTORY_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}").fullmatch


@dataclass(frozen=True)
class EntryFiles:
    """The open files of an entry, and their sizes in bytes when they were opened."""

    entry: BinaryIO
    entry_bytes: int
    episodes: BinaryIO
    episodes_bytes: int


@contextmanager
def opened(path: Path) -> Iterator[EntryFiles]:
    """Open an entry: a directory with exactly two plain files of bearable size.

    Nothing is read. No link is followed, at the entry itself or in it.

    Raises:
        UserError: if there is nothing at the path, or the system cannot do that.
        EntryError: if what is there is not such a directory.
    """
    if not hasattr(os, "O_NOFOLLOW"):
        raise UserError("this system cannot open files without following links; use Linux or macOS")
    name = path.absolute().name
    if not os.path.lexists(path):
        raise UserError(f"{path} is not there; give the directory of an entry")
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
    """Refuse what would be awkward in a path, an address or a terminal.

    Raises:
        EntryError: if an entry's directory may not be called so.
    """
    if not _DIRECTORY_NAME(name):
        raise EntryError(
            f"is called {brief(name)}; an entry's directory has up to 100 of a-z 0-9 . _ -, a "
            "letter or digit first"
        )


def shown_name(name: str) -> str:
    """Return a directory's name as it may be printed: in quotes and escaped if it is odd."""
    return name if name.isprintable() else brief(name)


def _refuse_others(directory: int) -> None:
    with os.scandir(directory) as items:  # not listdir: there may be millions
        for item in items:
            if item.name not in MOST_BYTES:
                raise EntryError(
                    f"holds {brief(item.name)}; an entry is {ENTRY_JSON} and {EPISODES} alone"
                )


def _plain_file(name: str, directory: int, stack: ExitStack) -> tuple[BinaryIO, int]:
    """Open one file for reading and return it with its size."""
    try:
        _check(name, os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        raise EntryError(f"{name} is missing") from None
    # Not waiting, and looked at again: it may have become a pipe since.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    file = stack.enter_context(os.fdopen(os.open(name, flags, dir_fd=directory), "rb"))
    return file, _check(name, os.fstat(file.fileno()))


def _check(name: str, status: os.stat_result) -> int:
    if not stat.S_ISREG(status.st_mode):
        kind = "a link" if stat.S_ISLNK(status.st_mode) else "not a plain file"
        raise EntryError(f"{name} is {kind}")
    if status.st_size > MOST_BYTES[name]:
        raise EntryError(
            f"{name} has {status.st_size:,} bytes; at most {MOST_BYTES[name]:,} are read"
        )
    return status.st_size

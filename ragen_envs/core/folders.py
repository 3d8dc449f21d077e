"""Folders that are written whole: a reader sees the old content or the new one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DRAFT = ".draft"
"""Suffix of a file or folder while it is written."""


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces another when the block ends; removed if it fails.

    The old folder stays until then. The draft is next to it under a hidden name; the draft of a
    killed writer is removed, and a link is not followed.
    """
    draft, old = (folder.with_name(f".{folder.name}{end}") for end in (DRAFT, ".old"))
    _remove(draft)
    draft.mkdir(parents=True)
    try:
        yield draft
        _remove(old)
        if folder.exists():
            folder.rename(old)  # a folder cannot replace another one
        draft.rename(folder)
    except BaseException:
        if old.is_dir() and not folder.exists():
            old.rename(folder)
        _remove(draft)
        raise
    _remove(old)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a draft of a new or empty folder, which is there when the block ends.

    Raises:
        ValueError: The folder has files, is a file, or is the working directory.
    """
    check_new(folder)
    with replacing_folder(folder.resolve()) as draft:
        yield draft


def check_new(folder: Path) -> None:
    """Raise a ValueError if a folder cannot be written as a new one."""
    if not folder.exists():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        raise ValueError(f"{folder} already exists and is not empty; choose another folder")
    if folder.samefile("."):
        raise ValueError(f"{folder} is the working directory; choose a folder in it")


def write_text(path: Path, text: str) -> None:
    """Write a file of a folder with the line ends of Unix, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)

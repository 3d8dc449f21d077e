"""Writes files and folders whole: a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ragen_bench.errors import UserError, missing_extra

try:
    from filelock import FileLock, Timeout
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing

DRAFT = ".draft"
"""Takes the place of a file's suffix while the file is written."""


@contextmanager
def replacing(file: Path) -> Iterator[BinaryIO]:
    """Open a draft that takes a file's place when the block ends, and goes if the block fails.

    The draft is a new file beside the other one. A link of its name, which somebody may have
    planted in a directory that came from elsewhere, is removed and not followed.

    Args:
        file: what is written; it may be there already.

    Raises:
        UserError: if it cannot be written.
    """
    draft = file.with_suffix(DRAFT)
    with writing(file):
        draft.unlink(missing_ok=True)
        with draft.open("xb") as content:  # a new file, so that no link is followed
            try:
                yield content
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        draft.replace(file)


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder that takes another's place when the block ends, and goes if it fails.

    What is there stays until then. The draft stands beside it under a hidden name; what a killed
    writer left there is removed, and a link is not followed.
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
def alone(folder: Path) -> Iterator[None]:
    """Keep other writers of a folder out until the block ends.

    The lock is a hidden file beside the folder, which goes with the block.

    Raises:
        UserError: if another process, or another thread, is writing it.
    """
    file = folder.with_name(f".{folder.name}.lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(
            f"{folder} is being written by another process; wait for it, or choose another --out",
            exit_code=1,
        ) from None
    try:
        yield
    finally:
        with suppress(PermissionError):  # of Windows, where the lock removes its file itself
            # While it is held, so that nobody takes the lock of a removed file.
            file.unlink(missing_ok=True)
        lock.release()


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def write_text(file: Path, text: str) -> None:
    """Write a text file whole, in UTF-8, with its line ends as they are.

    Lone surrogates, which UTF-8 does not have, are written as backslash and number.

    Raises:
        UserError: if it cannot be written.
    """
    with replacing(file) as content:
        content.write(text.encode(errors="backslashreplace"))


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Name the file, and say that nothing is lost, if the disk is full or lost.

    Args:
        file: what is written.
    """
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{file} cannot be written: {error.strerror or error}; what is there is kept, and the "
            "same command goes on from there",
            exit_code=1,
        ) from error

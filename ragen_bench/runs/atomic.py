"""Atomic writes of files, and the lock of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ragen_bench.errors import UserError, missing_extra
from ragen_envs.core.folders import DRAFT

try:
    from filelock import BaseFileLock, FileLock, Timeout
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing


@contextmanager
def replacing(file: Path) -> Iterator[BinaryIO]:
    """Open a draft that replaces a file when the block ends; it is removed if the block fails.

    A link of the draft's name, which may be planted in an untrusted directory, is removed and not
    followed. If the file cannot be written, a UserError is raised.
    """
    draft = file.with_suffix(DRAFT)
    with report_write_errors(file):
        draft.unlink(missing_ok=True)
        with draft.open("xb") as content:  # a new file, so that no link is followed
            try:
                yield content
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        draft.replace(file)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other writers of a folder out until the block ends, by a hidden file next to it."""
    file = folder.with_name(f".{folder.name}.lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = take_lock(file, folder)
    try:
        yield
    finally:
        with suppress(PermissionError):  # on Windows the lock removes its file itself
            # Before the release, so that no one can take the lock of a removed file.
            file.unlink(missing_ok=True)
        lock.release()


def take_lock(file: Path, folder: Path) -> BaseFileLock:
    """Return the lock of a folder's writer, or raise UserError while another process has it."""
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(
            f"{folder} is being written by another process; wait for it, or choose another --out",
            exit_code=1,
        ) from None
    return lock


def write_text(file: Path, text: str) -> None:
    """Write a text atomically in UTF-8; lone surrogates become backslash and number."""
    with replacing(file) as content:
        content.write(text.encode(errors="backslashreplace"))


@contextmanager
def report_write_errors(file: Path) -> Iterator[None]:
    """Turn an error of the disk into a UserError that names the file."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{file} cannot be written: {error.strerror or error}; finished work is kept, and the "
            "same command resumes it",
            exit_code=1,
        ) from error

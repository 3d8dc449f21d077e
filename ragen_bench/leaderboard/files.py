"""Opens the two files of an entry, and writes and reads its compressed episodes."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.strict_json import (
    ENTRY_JSON_BYTES,
    LINE_BYTES,
    PACKED_BYTES,
    RATIO,
    UNPACKED_BYTES,
    EntryError,
)
from ragen_bench.runs.differences import brief
from ragen_bench.runs.json_lines import to_line

ENTRY_JSON = "entry.json"
EPISODES = "episodes.jsonl.gz"
MAX_BYTES = {ENTRY_JSON: ENTRY_JSON_BYTES, EPISODES: PACKED_BYTES}
"""Maximum size of each file of an entry."""
_is_directory_name = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}").fullmatch


@dataclass(frozen=True)
class EntryFiles:
    """The open files of an entry, and their sizes in bytes at opening."""

    entry: BufferedReader
    entry_bytes: int
    episodes: BufferedReader
    episodes_bytes: int

    def read_entry(self) -> bytes:
        """Return the content of entry.json."""
        self.entry.seek(0)
        return self.entry.read(self.entry_bytes)

    def digest(self) -> str:
        """Return SHA-256 over the contents of both files, as hex digits."""
        self.episodes.seek(0)
        episodes = hashlib.file_digest(self.episodes, "sha256").digest()
        self.episodes.seek(0)
        return hashlib.sha256(hashlib.sha256(self.read_entry()).digest() + episodes).hexdigest()


@contextmanager
def open_entry(path: Path) -> Iterator[EntryFiles]:
    """Open an entry: a directory with exactly two plain files within the size limits.

    Nothing is read, and no link is followed. Anything else raises EntryError; a path that does not
    exist, or a system that cannot open without following links, UserError.
    """
    if not hasattr(os, "O_NOFOLLOW"):
        raise UserError("this system cannot open files without following links; use Linux or macOS")
    name = path.absolute().name
    if not os.path.lexists(path):
        raise UserError(f"{path} does not exist; give the directory of an entry")
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        raise EntryError("is not a directory")
    if os.path.lexists(path / "run.json") and not os.path.lexists(path / ENTRY_JSON):
        raise UserError(
            f"{path} is a run, not an entry; ragen-bench submit {path} makes an entry of it"
        )
    check_directory_name(name)
    with ExitStack() as stack:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        stack.callback(os.close, directory)
        with os.scandir(directory) as items:  # not listdir: there may be millions
            for item in items:
                if item.name not in MAX_BYTES:
                    raise EntryError(
                        f"holds {brief(item.name)}; an entry is {ENTRY_JSON} and {EPISODES} alone"
                    )
        entry, entry_bytes = _plain_file(ENTRY_JSON, directory, stack)
        episodes, episodes_bytes = _plain_file(EPISODES, directory, stack)
        yield EntryFiles(entry, entry_bytes, episodes, episodes_bytes)


def check_directory_name(name: str) -> None:
    """Raise EntryError unless a directory name is safe in paths, URLs and terminals."""
    if not _is_directory_name(name):
        raise EntryError(
            f"is called {brief(name)}; an entry's directory has up to 100 of a-z 0-9 . _ -, a "
            "letter or digit first"
        )


def printable_name(name: str) -> str:
    """Return a directory's name for printing, quoted and escaped if it is not printable."""
    return name if name.isprintable() else brief(name)


def _plain_file(name: str, directory: int, stack: ExitStack) -> tuple[BufferedReader, int]:
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


_CHUNK = 1 << 16
_SLACK = 1 << 16
"""Generous bound of the bytes that deflate and gzip add to incompressible episodes."""
_HEADER = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0))
"""gzip, deflate, no name or comment, no time (RFC 1952, section 2.3)."""


def write_packed(file: Path, records: Iterable[JsonObject]) -> tuple[str, int]:
    """Compress episodes into a file, without name or time, so that equal episodes give equal bytes.

    Returns SHA-256 and length of the uncompressed lines, as `PackedEpisodes` computes them. Raises
    EntryError if they exceed the limits of an entry.
    """
    digest, length = hashlib.sha256(), 0
    with (
        file.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=raw, mtime=0) as packed,
    ):
        for number, record in enumerate(records, start=1):
            line = to_line(record) + b"\n"
            _check_line(len(line), number)
            packed.write(line)
            digest.update(line)
            length += len(line)
    check_sizes(file.stat().st_size, length)
    return digest.hexdigest(), length


def check_sizes(packed: int, unpacked: int) -> None:
    """Raise EntryError if a file is too large, or a decompression bomb (sizes in bytes)."""
    if unpacked > UNPACKED_BYTES:
        raise EntryError(
            f"{EPISODES} unpacks to {unpacked:,} bytes; the maximum is {UNPACKED_BYTES:,}"
        )
    if unpacked > RATIO * packed:
        raise EntryError(
            f"{EPISODES} unpacks to {unpacked:,} bytes from {packed:,}, more than {RATIO} times "
            "its size"
        )
    if packed > unpacked + _SLACK:
        raise EntryError(
            f"{EPISODES} has {packed:,} bytes for {unpacked:,}, more than it takes to store them"
        )


class PackedEpisodes:
    """Reads the lines of a compressed file, with at most one line and 128 KiB in memory."""

    def __init__(self, file: BinaryIO, unpacked: int) -> None:
        self._file, self._unpacked = file, unpacked
        self._digest = hashlib.sha256()
        self.length = 0

    @property
    def sha256(self) -> str:
        """SHA-256 of the content unpacked so far, as hex digits."""
        return self._digest.hexdigest()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, without line ends.

        Raises EntryError if the file is not a single gzip member of whole lines, has a line of more
        than 4 MiB, or unpacks to more than `unpacked`.
        """
        rest, number = bytearray(), 1
        for chunk in self._chunks():
            searched = len(rest)
            rest += chunk
            start = 0
            while (end := rest.find(b"\n", max(start, searched))) >= 0:
                _check_line(end - start, number)
                yield bytes(rest[start:end])
                start, number = end + 1, number + 1
            del rest[:start]
            _check_line(len(rest), number)
        if rest:
            raise EntryError(f"{EPISODES} line {number} has no end")

    def _chunks(self) -> Iterator[bytes]:
        inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        data = self._file.read(_CHUNK)
        if data[: len(_HEADER)] != _HEADER:
            raise EntryError(f"{EPISODES} does not begin as a gzip file without name and time")
        while data:
            try:
                chunk = inflate.decompress(data, _CHUNK)
            except zlib.error as error:
                raise EntryError(f"{EPISODES} is damaged ({error})") from None
            self._digest.update(chunk)
            self.length += len(chunk)
            if self.length > self._unpacked:
                raise EntryError(
                    f"{EPISODES} unpacks to more than the {self._unpacked:,} bytes that entry.json "
                    "says"
                )
            yield chunk
            if inflate.eof:
                if inflate.unused_data or self._file.read(1):
                    raise EntryError(f"{EPISODES} has more bytes behind its end")
                return
            data = inflate.unconsumed_tail or self._file.read(_CHUNK)
        raise EntryError(f"{EPISODES} is truncated")


def _check_line(length: int, number: int) -> None:
    if length > LINE_BYTES:
        raise EntryError(
            f"{EPISODES} line {number} is longer than the maximum of {LINE_BYTES:,} bytes"
        )

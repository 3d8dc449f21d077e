"""Writes the compressed episodes reproducibly, and reads them in bounded memory."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.files import EPISODES
from ragen_bench.leaderboard.limits import LINE_BYTES, RATIO, UNPACKED_BYTES
from ragen_bench.runs.json_lines import to_line

_CHUNK = 1 << 16
_SLACK = 1 << 16
"""Generous bound of the bytes that deflate and gzip add to incompressible episodes."""
_HEADER = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0))
"""gzip, deflate, no name or comment, no time (RFC 1952, section 2.3)."""


def write_packed(file: Path, records: Iterable[JsonObject]) -> tuple[str, int]:
    """Compress episodes into a file, without name or time, so that equal episodes give equal bytes.

    Returns:
        SHA-256 and length of the uncompressed lines, as `PackedEpisodes` computes them.

    Raises:
        EntryError: if they exceed the limits of an entry.
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
    """Check the sizes of a file before it is read.

    Args:
        packed: Size of the file, in bytes.
        unpacked: Stated size of the unpacked content, in bytes. More is never read.

    Raises:
        EntryError: if the file is too large, or a decompression bomb.
    """
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
    """Reads the lines of a compressed file. Memory is at most one line and two chunks of 64 KiB.

    Args:
        file: The file, at its beginning.
        unpacked: Maximum size of the unpacked content, in bytes.

    Attributes:
        length: Size of the content unpacked so far, in bytes.
    """

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

        Raises:
            EntryError: if the file is not a single gzip member of whole lines, has a line of more
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
            self._count(chunk)
            yield chunk
            if inflate.eof:
                if inflate.unused_data or self._file.read(1):
                    raise EntryError(f"{EPISODES} has more bytes behind its end")
                return
            data = inflate.unconsumed_tail or self._file.read(_CHUNK)
        raise EntryError(f"{EPISODES} is truncated")

    def _count(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self.length += len(chunk)
        if self.length > self._unpacked:
            raise EntryError(
                f"{EPISODES} unpacks to more than the {self._unpacked:,} bytes that entry.json says"
            )


def _check_line(length: int, number: int) -> None:
    if length > LINE_BYTES:
        raise EntryError(
            f"{EPISODES} line {number} is longer than the maximum of {LINE_BYTES:,} bytes"
        )

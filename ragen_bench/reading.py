"""Bounded reading of files that others may have written.

Only regular files are opened, since a pipe or a device may never end. Sizes and depths have limits,
and a UserError names the file and the limit. A file that is missing or may not be read is an
OSError.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from ragen_bench.errors import UserError
from ragen_bench.json_types import Json, JsonObject

JSON_BYTES = 16 << 20
TEXT_BYTES = 1 << 20
"""Maximum size of a TOML file or another text; decoding TOML takes a second per MiB."""
LINE_BYTES = 32 << 20
"""Maximum size of a line of JSON, such as an episode with all its turns."""
DEPTH = 64
"""Maximum depth of objects and lists, well below the depth at which Python's recursion ends."""
_LONG_KEY = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEPTH}}}"""
)
"""A dotted key of TOML that is nested too deeply."""
_BLOCK = 1 << 16


@contextmanager
def open_file(file: Path) -> Iterator[BufferedReader]:
    """Open a regular file, or a link to one, for reading bytes; UserError for other kinds."""
    with open(file, "rb", opener=_open_at_once) as content:
        status = os.fstat(content.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UserError(f"{file} is not a regular file; replace it by one, or remove it")
        if status.st_size:
            yield content
            return
    # Files of /proc are regular with size 0, and some of them never end.
    with Path(os.devnull).open("rb") as nothing:
        yield nothing


def read_bytes(file: Path, limit: int = JSON_BYTES) -> bytes:
    """Return the content of a file of at most `limit` bytes."""
    with open_file(file) as content:
        size = os.fstat(content.fileno()).st_size
        data = b"" if size > limit else content.read(limit + 1)
    if size > limit or len(data) > limit:
        raise UserError(
            f"{file} has {max(size, len(data)):,} bytes; such a file has at most {limit:,}"
        )
    return data


def read_text(file: Path, limit: int = TEXT_BYTES) -> str:
    """Return the text of a file in UTF-8 of at most `limit` bytes."""
    try:
        return read_bytes(file, limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not a text in UTF-8: {error.reason} at {error.start}") from None


def read_toml(file: Path) -> JsonObject:
    """Return the content of a TOML file."""
    try:
        # As a file opened as text gives them: TOML has no line ends of a lone carriage return.
        content = parse_toml(read_text(file).replace("\r\n", "\n"))
    except ValueError as error:  # also of an integer with thousands of digits
        raise UserError(f"{file} is not a TOML file: {error}") from None
    return content


def parse_toml(text: str) -> JsonObject:
    """Return the content of a TOML text; ValueError if it is not TOML, or too deep."""
    # The decoder's memory grows with the square of a key's parts.
    try:
        content = None if _LONG_KEY.search(text) else tomllib.loads(text)
    except RecursionError:
        content = None
    if content is None or is_deep(content):
        raise ValueError(f"it is nested more than {DEPTH} deep")
    return content


def parse_json(text: bytes) -> Json:
    """Return the value of a JSON text in UTF-8; ValueError if it is not JSON, or too deep."""
    try:
        content: Json = json.loads(text.decode())
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if is_deep(content):
        raise ValueError(f"is nested more than {DEPTH} deep")
    return content


class LongLineError(ValueError):
    """A line is longer than `LINE_BYTES`; the message says so of the line."""


def read_lines_of(content: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of an open file with their ends, or raise LongLineError."""
    while line := content.readline(LINE_BYTES + 1):
        if len(line) > LINE_BYTES:
            raise LongLineError(f"has more than {LINE_BYTES:,} bytes")
        yield line


def count_line_ends(file: Path) -> int:
    """Return the number of line ends in a file, read in blocks; 0 for a missing file."""
    if not file.exists():
        return 0
    with open_file(file) as content:
        return sum(block.count(b"\n") for block in iter(lambda: content.read(_BLOCK), b""))


def read_last_line(file: Path) -> str:
    """Return the last line of a text that is not blank, of the file's last 64 KiB."""
    with open_file(file) as content:
        content.seek(max(0, os.fstat(content.fileno()).st_size - _BLOCK))
        lines = content.read(_BLOCK).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def is_deep(value: object, depth: int = DEPTH) -> bool:
    """Return whether objects and lists are nested more than `depth` deep."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for each in chain.from_iterable(inside) if isinstance(each, dict | list)]
        if not level:
            return False
    return bool(level)


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for the writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))

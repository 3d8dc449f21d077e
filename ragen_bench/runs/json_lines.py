"""JSON files: lines of objects, whose last line may be torn, and single objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.reading import (
    LINE_BYTES,
    LongLineError,
    open_file,
    parse_json,
    read_bytes,
    read_lines_of,
)
from ragen_bench.runs.atomic import report_write_errors, write_text
from ragen_bench.runs.checked import BadRecordError

T = TypeVar("T")
# Not "remove the line", which would change the order of the later episodes.
RESUME = "cut the file from that line on and resume, or choose another --out"
"""Advice for a bad line of a run."""
_BLOCK = 1 << 16


def numbered(
    file: Path, mend: str = RESUME, edited: bool = False
) -> Iterator[tuple[int, JsonObject]]:
    """Yield the line numbers, from 1 on, and objects of a file; see `parse_lines`."""
    for number, (_, content) in enumerate(parse_lines(file, mend, edited), start=1):
        yield number, content


def read_lines(
    file: Path, read: Callable[[object], T], mend: str = RESUME, edited: bool = False
) -> Iterator[tuple[int, JsonObject, T]]:
    """Yield the line numbers, objects and records of a file; see `parse_lines`."""
    for number, content in numbered(file, mend, edited):
        try:
            record = read(content)
        except BadRecordError as error:
            raise bad_line(file, number, str(error), mend) from None
        yield number, content, record


def parse_lines(
    file: Path, mend: str = RESUME, edited: bool = False, begin: tuple[int, int] = (0, 1)
) -> Iterator[tuple[bytes, JsonObject]]:
    """Yield the lines of a file, which may be missing, with their objects.

    A last line without a line end is skipped, since it may be incomplete; in a file that people
    edit, a complete object counts. A line that is not an object raises UserError with its number
    and the advice `mend`. `begin` is the byte offset and the number of the first line to read.
    """
    if not file.exists():
        return
    number = begin[1]
    with open_file(file) as lines:
        lines.seek(begin[0])
        try:
            for line in read_lines_of(lines):
                content = _parse_object(line)
                if not line.endswith(b"\n") and not (edited and content):
                    return
                if content is None:
                    raise bad_line(file, number, "is not a JSON object", mend)
                yield line, content
                number += 1
        except LongLineError as error:
            raise bad_line(file, number, str(error), mend) from None


def bad_line(file: Path, number: int, problem: str, mend: str = RESUME) -> UserError:
    """Return the error for a line that does not belong in a file."""
    return UserError(f"{file} line {number} {problem}; {mend}", exit_code=1)


def append(file: Path, added: JsonObject) -> None:
    """Append an object to a file and flush it to the operating system."""
    line = to_line(added) + b"\n"
    if len(line) > LINE_BYTES:
        raise UserError(
            f"{file}: a line of {len(line):,} bytes cannot be recorded, as at most {LINE_BYTES:,} "
            "are read again; lower --max-tokens",
            exit_code=1,
        )
    with report_write_errors(file), file.open("ab") as lines:
        lines.write(line)


def to_line(content: JsonObject) -> bytes:
    """Return an object as JSON in one line, without the line end."""
    return _encodable_json(content, separators=(",", ":")).encode()


def cut_torn_line(file: Path, edited: bool = False) -> bool:
    """Cut off a last line without a line end; return whether there was one.

    In a file that people edit, a complete object gets a line end instead.
    """
    if not file.is_file():
        return False
    size = file.stat().st_size
    end = _find_last_line_end(file, size)
    if end == size:
        return False
    with file.open("r+b") as lines:
        lines.seek(end)
        if edited and _parse_object(lines.read(LINE_BYTES)):
            lines.write(b"\n")
            return False
        lines.truncate(end)
    return True


def read_whole(file: Path, mend: str = "choose another --out") -> JsonObject:
    """Return the JSON object in a file; anything else raises UserError with the advice `mend`."""
    content = _parse_object(read_bytes(file))
    if content is None:
        raise UserError(f"{file} is not a JSON object; {mend}")
    return content


def write_whole(file: Path, content: JsonObject) -> None:
    """Write an object to a file atomically."""
    write_text(file, _encodable_json(content, indent=2) + "\n")


def _parse_object(text: bytes) -> JsonObject | None:
    """Return the object in a JSON text; None if it is not an object."""
    try:
        content = parse_json(text)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _find_last_line_end(file: Path, size: int) -> int:
    """Return the offset behind the last line end, searching backwards."""
    end = size
    with open_file(file) as lines:
        while end:
            start = max(0, end - _BLOCK)
            lines.seek(start)
            place = lines.read(end - start).rfind(b"\n")
            if place >= 0:
                return start + place + 1
            end = start
    return 0


def _encodable_json(
    content: JsonObject, indent: int | None = None, separators: tuple[str, str] | None = None
) -> str:
    text = json.dumps(content, ensure_ascii=False, indent=indent, separators=separators)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Lone surrogates, legal in responses and paths but not in UTF-8, are escaped.
        return json.dumps(content, indent=indent, separators=separators)
    return text

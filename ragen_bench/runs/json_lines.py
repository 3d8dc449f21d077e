"""JSON files: lines of objects, which grow and may end in the middle, and whole objects."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from ragen_bench.errors import UserError
from ragen_bench.runs.atomic import write_text, writing
from ragen_bench.runs.checked import BadRecordError
from ragen_bench.runs.schema import Object

T = TypeVar("T")
# Not "remove the line": the episodes after it would then be in another order.
RESUME = "cut the file from that line on and resume, or choose another --out"
"""What to do about a bad line of a run."""
_BLOCK = 1 << 16


def numbered(file: Path, mend: str = RESUME, edited: bool = False) -> Iterator[tuple[int, Object]]:
    """Yield the objects of a file with their numbers from 1 on, as `parsed`."""
    for number, (_, content) in enumerate(parsed(file, mend, edited), start=1):
        yield number, content


def read_lines(
    file: Path, read: Callable[[Any], T], mend: str = RESUME, edited: bool = False
) -> Iterator[tuple[int, Object, T]]:
    """Yield the numbers of the lines of a file, their objects, and what these hold, as `parsed`.

    Raises:
        UserError: if a line does not hold what `read` returns, with its number.
    """
    for number, content in numbered(file, mend, edited):
        try:
            held = read(content)
        except BadRecordError as error:
            raise bad_line(file, number, str(error), mend) from None
        yield number, content, held


def parsed(
    file: Path, mend: str = RESUME, edited: bool = False, begin: tuple[int, int] = (0, 1)
) -> Iterator[tuple[bytes, Object]]:
    """Yield the lines of a file, which may be missing, with their objects.

    A last line without its end is not there yet.

    Args:
        file: the file.
        mend: what to do about a bad line.
        edited: whether people edit the file: a whole object then counts without a line's end.
        begin: the place and the number of the first line that is read.

    Raises:
        UserError: if a line holds no object, with its number.
    """
    if not file.is_file():
        return
    with file.open("rb") as lines:
        lines.seek(begin[0])
        for number, line in enumerate(lines, start=begin[1]):
            content = _object(line)
            if not line.endswith(b"\n") and not (edited and content):
                return
            if content is None:
                raise bad_line(file, number, "is not a JSON object", mend)
            yield line, content


def bad_line(file: Path, number: int, problem: str, mend: str = RESUME) -> UserError:
    """Return what to raise for a line that does not belong into a file."""
    return UserError(f"{file} line {number} {problem}; {mend}", exit_code=1)


def append(file: Path, added: Object) -> None:
    """Add an object to a file, and hand it to the system at once.

    Raises:
        UserError: if the file cannot be written.
    """
    with writing(file), file.open("ab") as lines:
        lines.write(line_of(added) + b"\n")


def line_of(content: Object) -> bytes:
    """Return an object as a line has it, without the line's end."""
    return _encodable_json(content, separators=(",", ":")).encode()


def sync(file: Path) -> None:
    """Bring a file, if there is one, to the disk."""
    if file.is_file():
        with file.open("rb") as written:
            os.fsync(written.fileno())


def cut_torn_line(file: Path, edited: bool = False) -> bool:
    """Cut off a last line without its end; return whether there was one.

    Args:
        file: the file.
        edited: whether people edit the file: a whole object then gets the line's end instead.
    """
    if not file.is_file():
        return False
    size = file.stat().st_size
    end = _end_of_lines(file, size)
    if end == size:
        return False
    with file.open("r+b") as lines:
        lines.seek(end)
        if edited and _object(lines.read()):
            lines.write(b"\n")
            return False
        lines.truncate(end)
    return True


def read_whole(file: Path, mend: str = "choose another --out") -> Object:
    """Return the object that a file holds.

    Args:
        file: the file.
        mend: what to do about one that holds something else.

    Raises:
        UserError: if it holds no JSON object.
    """
    content = _object(file.read_bytes())
    if content is None:
        raise UserError(f"{file} is not a JSON object; {mend}")
    return content


def write_whole(file: Path, content: Object) -> None:
    """Write an object to a file, see `replacing`.

    Raises:
        UserError: if the file cannot be written.
    """
    write_text(file, _encodable_json(content, indent=2) + "\n")


def _object(text: bytes) -> Object | None:
    """Return the object that a JSON text holds, None if it holds something else."""
    try:
        content = json.loads(text.decode())
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _end_of_lines(file: Path, size: int) -> int:
    """Return the place after the last line end, looked for from the end of the file on."""
    end = size
    with file.open("rb") as lines:
        while end:
            start = max(0, end - _BLOCK)
            lines.seek(start)
            place = lines.read(end - start).rfind(b"\n")
            if place >= 0:
                return start + place + 1
            end = start
    return 0


def _encodable_json(content: Object, **style: Any) -> str:
    text = json.dumps(content, ensure_ascii=False, **style)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Lone surrogates are legal in answers and paths but not in UTF-8: they go out escaped.
        return json.dumps(content, **style)
    return text

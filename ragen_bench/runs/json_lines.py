"""Files of JSON, an object a line, that grow while they are written and may end in the middle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError

Object = dict[str, Any]
_BLOCK = 1 << 16


def numbered(file: Path) -> Iterator[tuple[int, Object]]:
    """Yield the objects of a file with their numbers from 1 on, as `parsed`."""
    for number, (_, found) in enumerate(parsed(file), start=1):
        yield number, found


def parsed(file: Path) -> Iterator[tuple[bytes, Object]]:
    """Yield the lines of a file, which may be missing, with their objects.

    A last line without its end is not there yet.

    Raises:
        UserError: if a line holds no object, with its number.
    """
    if not file.is_file():
        return
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                found = json.loads(line.decode())
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                raise bad_line(file, number, "is not a JSON object")
            yield line, found


def bad_line(file: Path, number: int, problem: str) -> UserError:
    """Return what to raise for a line that does not belong into a run's file."""
    # Not "remove the line": the episodes after it would then be in another order.
    return UserError(
        f"{file} line {number} {problem}; cut the file from that line on and resume, "
        "or choose another --out",
        exit_code=1,
    )


def append(file: Path, added: Object) -> None:
    """Add an object to a file, and hand it to the system at once.

    Raises:
        UserError: if the file cannot be written.
    """
    line = _encodable_json(added, separators=(",", ":")) + "\n"
    with writing(file), file.open("ab") as lines:
        lines.write(line.encode())


def sync(file: Path) -> None:
    """Bring a file, if there is one, to the disk."""
    if file.is_file():
        with file.open("rb") as written:
            os.fsync(written.fileno())


def cut_torn_line(file: Path) -> bool:
    """Cut off a last line without its end; return whether there was one."""
    if not file.is_file():
        return False
    size = file.stat().st_size
    end = _end_of_lines(file, size)
    if end == size:
        return False
    os.truncate(file, end)
    return True


def write_whole(file: Path, content: Object) -> None:
    """Write a file so that a reader sees the old or the new one, never a part.

    Raises:
        UserError: if the file cannot be written.
    """
    draft = file.with_suffix(".draft")
    text = _encodable_json(content, indent=2) + "\n"
    with writing(file):
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(file)


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


def _end_of_lines(file: Path, size: int) -> int:
    """Return the place after the last line end, looked for from the end of the file on."""
    end = size
    with file.open("rb") as lines:
        while end:
            start = max(0, end - _BLOCK)
            lines.seek(start)
            found = lines.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
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

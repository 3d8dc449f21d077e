"""The metadata of GGUF files that are read before llama.cpp reads them."""

from __future__ import annotations

import mmap
import re
import struct
from pathlib import Path

from ragen_bench.errors import UserError

MAGIC = b"GGUF"
_HEADER = struct.Struct("<4sIQQ")
_TEXT, _LIST = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a number of each type."""
_TEMPLATE, _PARTS = "tokenizer.chat_template", "split.count"
_PART = re.compile(r".*-(\d{5})-of-(\d{5})\.gguf")
_LARGEST = 1 << 16
"""Entries of the metadata."""


def read_metadata(file: Path, data: mmap.mmap) -> tuple[dict[str, str], int]:
    """Return the chat templates of a file by their keys, and the number of its parts."""
    templates: dict[str, str] = {}
    parts = 1
    try:
        _, _, _, count = _HEADER.unpack_from(data)
        if count > _LARGEST:
            raise ValueError(f"{count} entries")
        place = _HEADER.size
        for _ in range(count):
            key, place = _read_text(data, place)
            (kind,) = struct.unpack_from("<I", data, place)
            begin, place = place + 4, _skip(data, kind, place + 4)
            if key.startswith(_TEMPLATE) and kind == _TEXT:
                templates[key] = _read_text(data, begin)[0]
            elif key == _PARTS and kind in (2, 4, 10):
                parts = int.from_bytes(data[begin:place], "little")
    except (struct.error, KeyError, ValueError) as error:
        raise UserError(f"{str(file)!r} is not a whole GGUF file; copy it again") from error
    return templates, parts


def find_parts(file: Path, count: int) -> list[Path]:
    """Return the files of a model of several parts, which lie in one folder."""
    match = _PART.fullmatch(file.name)
    if count < 2:
        return [file]
    if match is None or match[2] != f"{count:05d}" or match[1] != "00001":
        raise UserError(
            f"{str(file)!r} is of a model in {count} parts; give the path of the first, as "
            f"NAME-00001-of-{count:05d}.gguf"
        )
    prefix = file.name[: match.start(1)]
    parts = [file.with_name(f"{prefix}{n:05d}-of-{match[2]}.gguf") for n in range(1, count + 1)]
    for part in parts[1:]:
        if not part.is_file() or part.resolve().parent != file.resolve().parent:
            raise UserError(f"{str(part)!r} is missing, or a link to another folder")
    return parts


def _read_text(data: mmap.mmap, place: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", data, place)
    end = place + 8 + length
    if end > len(data):
        raise ValueError(f"a text ends at {end}")
    return data[place + 8 : end].decode("utf-8", "replace"), end


def _skip(data: mmap.mmap, kind: int, place: int) -> int:
    """Return the place after a value."""
    if kind == _TEXT:
        (length,) = struct.unpack_from("<Q", data, place)
        end: int = place + 8 + length
    elif kind == _LIST:
        inner, count = struct.unpack_from("<IQ", data, place)
        end = place + 12
        if inner == _TEXT:
            for _ in range(count):
                end = _skip(data, _TEXT, end)
        else:
            end += _SIZES[inner] * count
    else:
        end = place + _SIZES[kind]
    if end > len(data):
        raise ValueError(f"a value ends at {end}")
    return end

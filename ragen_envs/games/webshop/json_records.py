"""Readers of large JSON files, one record at a time, and of the checked fields of a record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

LONGEST_RECORD = 1 << 24
"""Most characters of one record."""
_LONGEST_VALUE = 60
_READ = 1 << 20
_BLANKS = " \t\r\n"
_AFTER = frozenset(",:]}" + _BLANKS)


def records(path: Path) -> Iterator[tuple[str, object]]:
    """Yield the records of a file that holds one JSON array or object, with their names.

    A record of an object is named by its key, one of an array by its number, from 1. Memory holds
    one record at a time. An unreadable file raises ValueError: one line that names file and record.
    """
    try:
        with path.open(encoding="utf-8") as file:
            yield from _Reader(path, file).records()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error.reason})") from None


class _Reader:
    """Reads a file from front to back; `text[at:]` is read and not yet consumed."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self._path, self._file = path, file
        self._text, self._at, self._ended = "", 0, False
        self._decode = json.JSONDecoder().raw_decode

    def records(self) -> Iterator[tuple[str, object]]:
        opening = self._next()
        if opening not in ("[", "{"):
            raise ValueError(f"{self._path} is not a JSON array or object of records")
        closing = "]" if opening == "[" else "}"
        self._at += 1
        number = 0
        while self._next() != closing:
            number += 1
            if number > 1:
                self._pass(",", number)
            name = str(number)
            if opening == "{":
                name = str(self._value(name))
                self._pass(":", number)
            yield name, self._value(name)

    def _more(self) -> bool:
        """Read more, in ever larger pieces; return False at the end of the file."""
        self._text = self._text[self._at :]
        self._at = 0
        read = self._file.read(max(_READ, len(self._text)))
        self._text += read
        self._ended = not read
        return bool(read)

    def _next(self) -> str:
        """Return the next character that is not blank without consuming it; "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _pass(self, mark: str, number: int) -> None:
        if self._next() != mark:
            raise self._wrong(str(number), f"is not JSON: {mark!r} is missing before or in it")
        self._at += 1

    def _value(self, name: str) -> object:
        self._next()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                problem = f"is not JSON: {error.msg}"
            except RecursionError:
                raise self._wrong(name, "is nested too deeply") from None
            else:
                # The next character shows whether a number is complete.
                if self._ended or self._text[end : end + 1] in _AFTER:
                    self._at = end
                    return value
                problem = "is not closed"
            if len(self._text) - self._at > LONGEST_RECORD:
                raise self._wrong(name, f"has more than {LONGEST_RECORD} characters, or {problem}")
            if self._ended:
                raise self._wrong(name, problem)
            self._more()

    def _wrong(self, name: str, problem: str) -> ValueError:
        return ValueError(f"{self._path}, record {name}: {problem}")


class Record:
    """The checked fields of a record; a wrong one raises ValueError that names it."""

    def __init__(self, path: Path, name: str, value: object) -> None:
        self._where = f"{path}, record {name}"
        if not isinstance(value, dict):
            raise ValueError(f"{self._where}: is not an object of fields but {shorten(value)}")
        self._fields: Mapping[str, object] = value

    def __contains__(self, field: str) -> bool:
        return self._fields.get(field) is not None

    def get(self, field: str) -> object:
        """Return the value of a field that exists, which may be None."""
        if field not in self._fields:
            raise self.wrong(field, "is missing")
        return self._fields[field]

    def text(self, field: str) -> str:
        value = self.get(field)
        if not isinstance(value, str):
            raise self.wrong(field, f"is not a text but {shorten(value)}")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        value = self.get(field)
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise self.wrong(field, f"is not a list of texts but {shorten(value)}")
        return tuple(value)

    def wrong(self, field: str, problem: str) -> ValueError:
        return ValueError(f"{self._where}, field {field!r}: {problem}")


def shorten(value: object) -> str:
    """Return a value for a message, in one line and shortened."""
    text = ascii(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."

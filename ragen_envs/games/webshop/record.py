"""A record of a public file, whose fields are checked as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SHOWN = 60


class Record:
    """The fields of a record, and where it stands.

    Args:
        path: its file.
        name: its key or number there.
        value: what stands there.

    Raises:
        ValueError: if that is not a JSON object.
    """

    def __init__(self, path: Path, name: str, value: object) -> None:
        self._where = f"{path}, record {name}"
        if not isinstance(value, dict):
            raise ValueError(f"{self._where}: is not an object of fields but {shown(value)}")
        self._fields: Mapping[str, Any] = value

    def __contains__(self, field: str) -> bool:
        return self._fields.get(field) is not None

    def get(self, field: str) -> Any:
        """Return a field's value, None included.

        Raises:
            ValueError: if there is no such field.
        """
        if field not in self._fields:
            raise self.wrong(field, "is missing")
        return self._fields[field]

    def text(self, field: str) -> str:
        """Return a field that holds a text.

        Raises:
            ValueError: if it is missing or holds something else.
        """
        value = self.get(field)
        if not isinstance(value, str):
            raise self.wrong(field, f"is not a text but {shown(value)}")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a field that holds a list of texts.

        Raises:
            ValueError: if it is missing or holds something else.
        """
        value = self.get(field)
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise self.wrong(field, f"is not a list of texts but {shown(value)}")
        return tuple(value)

    def wrong(self, field: str, problem: str) -> ValueError:
        """Return the error that names file, record and field."""
        return ValueError(f"{self._where}, field {field!r}: {problem}")


def shown(value: object) -> str:
    """Return a value for an error, in one line that is not too long."""
    text = ascii(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."

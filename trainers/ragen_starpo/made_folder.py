"""Output folders of commands, which never replace other files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.differences import first_difference
from ragen_bench.runs.json_lines import read_whole
from ragen_envs.core.folders import replacing_folder

RECORD = "ragen-train.json"
"""File that names the command which made a folder; it is not copied to derived folders."""


class MadeFolder:
    """A folder that a command writes, with a record of the command's name and settings.

    The same command may write it again, since the result is the same. UserError if the folder
    cannot be created, or holds files that this command with these settings did not write.
    """

    def __init__(self, path: Path, made_by: Mapping[str, object]) -> None:
        check_place(path)
        if path.resolve() == Path.cwd():
            raise UserError(f"{path} is the working directory; choose a folder inside it")
        self.path = path
        self._made_by = json.loads(json.dumps(made_by))
        if not path.is_dir() or not any(path.iterdir()):
            return
        record = _read_record(path)
        difference = first_difference(record, self._made_by, "", "given") if record else "no record"
        if difference:
            raise UserError(
                f"{path} holds files that this command does not make ({difference}); choose "
                "another folder, or remove it"
            )

    @contextmanager
    def write(self) -> Iterator[Path]:
        """Yield an empty folder that replaces this one when the context ends without an error."""
        with replacing_folder(self.path.resolve()) as draft:
            # The record is written last, since saving a model replaces the whole folder.
            yield draft
            text = json.dumps(self._made_by, indent=2) + "\n"
            (draft / RECORD).write_text(text, encoding="utf-8")


def recorded_setting(path: Path, name: str) -> str | None:
    """Return a setting of the command that made a folder, which need not exist."""
    value = (_read_record(path) or {}).get(name)
    return value if isinstance(value, str) else None


def _read_record(path: Path) -> JsonObject | None:
    with suppress(OSError, UserError):
        return read_whole(path / RECORD)
    return None


def check_place(path: Path) -> None:
    """Raise UserError if a file is in the way of a folder; change nothing."""
    whole = path.resolve()
    nearest = next(place for place in (whole, *whole.parents) if place.exists())
    if not nearest.is_dir():
        raise UserError(f"{nearest} is a file; choose a folder")

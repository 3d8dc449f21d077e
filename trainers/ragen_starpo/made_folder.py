"""Folders that a command makes, which never replace what another command or a person made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.runs.atomic import replacing_folder
from ragen_bench.runs.differences import first_difference
from ragen_bench.runs.json_lines import read_whole
from ragen_starpo.engine.folders import RECORD


class MadeFolder:
    """A folder that one command writes, with a record of its settings in it.

    The same command may make it again, since that gives the same, also after an interruption.

    Args:
        path: of the folder.
        made_by: the command's name and its settings.

    Raises:
        UserError: if the folder holds anything that this command with these settings did not make,
            or cannot be made.
    """

    def __init__(self, path: Path, made_by: Mapping[str, Any]) -> None:
        check_place(path)
        if path.resolve() == Path.cwd():
            raise UserError(f"{path} is the folder that you are in; name one in it")
        self.path = path
        self._made_by = json.loads(json.dumps(made_by))
        if not path.is_dir() or not any(path.iterdir()):
            return
        there = _record(path / RECORD)
        different = first_difference(there, self._made_by, "settings") if there else "no record"
        if different:
            raise UserError(
                f"{path} holds something else than this command makes ({different}); choose "
                "another folder, or remove it"
            )

    @contextmanager
    def written(self) -> Iterator[Path]:
        """Give an empty folder to write to, which takes the place of this one when all is there."""
        with replacing_folder(self.path.resolve()) as draft:
            # Within it, since a model that is saved replaces a folder as a whole.
            yield draft
            text = json.dumps(self._made_by, indent=2) + "\n"
            (draft / RECORD).write_text(text, encoding="utf-8")


def check_place(path: Path) -> None:
    """Check that a folder can be made, or written to where it is there; change nothing.

    Raises:
        UserError: if not.
    """
    whole = path.resolve()
    nearest = next(place for place in (whole, *whole.parents) if place.exists())
    if not nearest.is_dir():
        raise UserError(f"{nearest} is a file; choose a folder")


def _record(file: Path) -> dict[str, Any] | None:
    try:
        return read_whole(file)
    except (OSError, UserError):
        return None

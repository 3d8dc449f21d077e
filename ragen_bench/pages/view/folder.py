"""Finds the runs in a folder. Links are not followed, so nothing outside is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.pages.view.listed_run import ListedRun, RunRow

_MAX_DEPTH = 32
"""Maximum folder depth, since an untrusted folder may be arbitrarily deep."""


class Listing(NamedTuple):
    """The runs in a folder.

    Attributes:
        rows: Runs, sorted by path.
        notes: Skipped folders, one line per kind.
    """

    rows: list[RunRow]
    notes: list[str]


class RunsFolder:
    """The runs in a folder, which are read again only where they changed.

    Args:
        path: The folder.

    Raises:
        UserError: if the path is not a folder.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise UserError(
                f"{path} is not a folder; name one that holds runs of ragen-bench evaluate"
            )
        self.path = path
        self._root = path.resolve()
        self._runs: dict[Path, ListedRun] = {}
        self._links = self._unread = self._deep = 0

    def list_runs(self) -> Listing:
        """Return the current runs."""
        self._find()
        return Listing([run.row() for run in self._runs.values()], list(self._notes()))

    def run(self, id: str) -> ListedRun:
        """Return the run with an id.

        Raises:
            UserError: if there is none.
        """
        self._find()
        for run in self._runs.values():
            if run.id == id:
                return run
        raise UserError("this run is not there any more")

    def _find(self) -> None:
        self._links = self._unread = self._deep = 0
        self._runs = {
            path: self._runs.get(path) or ListedRun(self._root, path) for path in self._paths()
        }

    def _paths(self) -> Iterator[Path]:
        """Yield the run directories, sorted by path and without hidden folders."""
        for folder, names, files in os.walk(self._root, onerror=self._count_unread):
            names[:] = sorted(name for name in names if not name.startswith("."))
            if names and len(Path(folder).relative_to(self._root).parts) >= _MAX_DEPTH:
                self._deep += 1
                names.clear()
            self._links += sum((Path(folder) / name).is_symlink() for name in names)
            if "run.json" in files:
                yield Path(folder)

    def _count_unread(self, _error: OSError) -> None:
        self._unread += 1

    def _notes(self) -> Iterator[str]:
        if self._links:
            yield f"Links to folders are not followed: {self._links} below this folder."
        if self._unread:
            yield f"Folders that cannot be read: {self._unread}."
        if self._deep:
            yield f"Folders more than {_MAX_DEPTH} deep are not looked into: {self._deep}."

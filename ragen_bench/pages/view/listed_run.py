"""One run of the list, read again where it has changed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.pages.view.figures import Figure, Tally
from ragen_bench.runs.directory import RunDirectory, read_run
from ragen_bench.runs.episode_reader import EpisodeReader
from ragen_bench.runs.json_lines import RESUME
from ragen_bench.runs.schema import RunConfig

_Stamp = tuple[int, int, int, int] | None
"""Device, number, size and time of a file or folder, None if it is missing."""


class _Stamps(NamedTuple):
    """What tells whether a run directory has changed."""

    config: _Stamp
    episodes: _Stamp
    folder: _Stamp


@dataclass(frozen=True)
class RunRow:
    """What the list shows of a run.

    Attributes:
        id: names the run in addresses.
        place: the run directory, from the folder on.
        config: the content of run.json; None where it cannot be read.
        episodes: how many are recorded.
        outcomes: how many of them ended how.
        figure: what the run reached, None where it has no figure.
        problem: in one line why the run cannot be read; then the figures are empty.
    """

    id: str
    place: str
    config: RunConfig | None = None
    episodes: int = 0
    outcomes: tuple[str, ...] = ()
    figure: Figure | None = None
    problem: str = ""

    @property
    def state(self) -> str:
        """Whether the run is `complete`, `incomplete` or `unreadable`."""
        if self.config is None:
            return "unreadable"
        return "complete" if self.episodes == self.config.planned else "incomplete"


class ListedRun:
    """A run below a folder.

    Args:
        root: the folder, without links in its path.
        path: the run directory.
    """

    def __init__(self, root: Path, path: Path) -> None:
        self.id = hashlib.sha256(os.fsencode(path.relative_to(root))).hexdigest()[:16]
        self._root = root
        self._path = path
        self._stamps: _Stamps | None = None
        self._reading: _Reading | None = None
        self._row = RunRow(self.id, self._place)

    @property
    def _place(self) -> str:
        return str(self._path.relative_to(self._root))

    def opened(self) -> RunDirectory:
        """Return the run directory.

        Raises:
            UserError: if it holds no run, or links to what is outside the folder.
        """
        for file in self._path.iterdir():
            if file.is_symlink() and not self._holds(file):
                raise UserError(f"{file} is a link to what is outside the folder")
        return read_run(self._path)

    def row(self) -> RunRow:
        """Return what the list shows, of what is recorded now."""
        path = self._path
        stamps = _Stamps(_stamp(path / "run.json"), _stamp(path / "episodes.jsonl"), _stamp(path))
        if stamps != self._stamps:
            try:
                self._row = self._read(stamps)
            except (UserError, OSError) as error:
                self._reading = None
                self._row = RunRow(self.id, self._place, problem=self._said(error))
            self._stamps = stamps
        return self._row

    def _said(self, error: UserError | OSError) -> str:
        if isinstance(error, OSError):
            return f"{Path(error.filename or self._path).name}: {error.strerror}"
        # Paths from the folder on, and no advice to those who write a run.
        message = str(error).replace(f"{self._root}{os.sep}", "")
        for mend in (RESUME, "choose another --out"):
            message = message.removesuffix(f"; {mend}")
        return message

    def _holds(self, link: Path) -> bool:
        # Path.resolve raises for a link to itself, before Python 3.13.
        return Path(os.path.realpath(link)).is_relative_to(self._root)

    def _read(self, stamps: _Stamps) -> RunRow:
        """Go on with what was read, or begin anew where that does not lead on."""
        run, before = self.opened(), self._stamps
        if self._reading and before and _has_grown(before, stamps):
            try:
                return self._reading.row(self.id, self._place)
            except UserError:
                pass  # another file of the same number: it is read from its start
        self._reading = _Reading(run)
        return self._reading.row(self.id, self._place)


class _Reading:
    """What was read of a run."""

    def __init__(self, run: RunDirectory) -> None:
        self._config = run.config
        self._reader = EpisodeReader(run.episodes_file, run.config)
        self._tally = Tally()

    def row(self, id: str, place: str) -> RunRow:
        for _, episode in self._reader.added():
            self._tally.add(episode)
        outcomes = self._tally.outcomes
        figure = self._tally.figure()
        return RunRow(id, place, self._config, outcomes.total(), tuple(outcomes), figure)


def _stamp(file: Path) -> _Stamp:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns


def _has_grown(before: _Stamps, now: _Stamps) -> bool:
    """Return whether lines may have been added, and nothing else have happened."""
    old, new = before.episodes, now.episodes
    if before.config != now.config or new is None:
        return False
    return old is None or (old[:2] == new[:2] and old[2] <= new[2])

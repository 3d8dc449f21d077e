"""One run of the list, with its metrics so far. It is read again only where it changed."""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.runs.directory import RunDirectory, read_run
from ragen_bench.runs.episode_reader import EpisodeReader
from ragen_bench.runs.json_lines import RESUME
from ragen_bench.runs.schema import EpisodeRecord, RunConfig
from ragen_bench.statistics import Estimate, clustered_bootstrap, mean, mean_estimate, mean_of

_Clusters = dict[int, list[float]]
"""Values of episodes by instance."""
_Stamp = tuple[int, int, int, int] | None
"""Device, inode, size and change time of a file or folder; None if it is missing."""


class Figure(NamedTuple):
    """The main metric of a run.

    Attributes:
        of: "success", a rate in [0, 1], or "return", the sum of rewards.
        mean: Mean over environments with equal weights, and its 95 % interval.
        envs: Number of environments.
    """

    of: Literal["success", "return"]
    mean: Estimate
    envs: int


class Tally:
    """Running totals of a run's episodes."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._successes: defaultdict[str, _Clusters] = defaultdict(dict)
        self._returns: defaultdict[str, _Clusters] = defaultdict(dict)
        self._with_success: set[str] = set()

    def add(self, episode: EpisodeRecord) -> None:
        """Add an episode."""
        env, index = episode.env, episode.index
        self.outcomes[episode.outcome] += 1
        self._successes[env].setdefault(index, []).append(float(episode.success or 0))
        self._returns[env].setdefault(index, []).append(episode.episode_return)
        if episode.success is not None:
            self._with_success.add(env)

    def figure(self) -> Figure | None:
        """Return the success rate if an environment has one, else the return of a single one.

        None without episodes, and for several environments without success, whose returns have no
        meaningful mean.
        """
        if self._with_success:
            envs = [env for env in self._successes if env in self._with_success]
            rates = [mean_estimate(list(self._successes[env].values())) for env in envs]
            return Figure("success", mean_of(rates), len(rates))
        if len(self._returns) != 1:
            return None
        (clusters,) = self._returns.values()
        values = [value for cluster in clusters.values() for value in cluster]
        interval = clustered_bootstrap(list(clusters.values()))
        return Figure("return", Estimate(mean(values), interval), 1)


class _Stamps(NamedTuple):
    """The state of a run directory, to detect changes."""

    config: _Stamp
    episodes: _Stamp
    folder: _Stamp


@dataclass(frozen=True)
class RunRow:
    """The row of a run in the list.

    Attributes:
        id: Identifier of the run in URLs.
        place: Run directory, relative to the folder.
        config: Content of run.json; None if it cannot be read.
        episodes: Number of recorded episodes.
        outcomes: Outcomes that occurred.
        figure: Success or return so far, or None.
        problem: Reason why the run cannot be read, in one line, or "".
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
        """`complete`, `incomplete` or `unreadable`."""
        if self.config is None:
            return "unreadable"
        return "complete" if self.episodes == self.config.planned else "incomplete"


class ListedRun:
    """A run in a folder.

    Args:
        root: The folder, without links in its path.
        path: Run directory.
    """

    def __init__(self, root: Path, path: Path) -> None:
        self.id = hashlib.sha256(os.fsencode(path.relative_to(root))).hexdigest()[:16]
        self._root = root
        self._path = path
        self._stamps: _Stamps | None = None
        self._growing: _GrowingRun | None = None
        self._row = RunRow(self.id, self._place)

    @property
    def _place(self) -> str:
        return str(self._path.relative_to(self._root))

    def open(self) -> RunDirectory:
        """Open the run directory.

        Raises:
            UserError: if it is not a run, or a link in it leads out of the folder.
        """
        for file in self._path.iterdir():
            if file.is_symlink() and not self._contains(file):
                raise UserError(f"{file} is a link that leads out of the folder")
        return read_run(self._path)

    def row(self) -> RunRow:
        """Return the current row of the list."""
        path = self._path
        stamps = _Stamps(_stamp(path / "run.json"), _stamp(path / "episodes.jsonl"), _stamp(path))
        if stamps != self._stamps:
            try:
                self._row = self._read(stamps)
            except (UserError, OSError) as error:
                self._growing = None
                self._row = RunRow(self.id, self._place, problem=self._describe(error))
            self._stamps = stamps
        return self._row

    def _describe(self, error: UserError | OSError) -> str:
        if isinstance(error, OSError):
            return f"{Path(error.filename or self._path).name}: {error.strerror}"
        # Relative paths, and without advice for those who run an evaluation.
        message = str(error).replace(f"{self._root}{os.sep}", "")
        for advice in (RESUME, "choose another --out"):
            message = message.removesuffix(f"; {advice}")
        return message

    def _contains(self, link: Path) -> bool:
        # Path.resolve raises for a link to itself, before Python 3.13.
        return Path(os.path.realpath(link)).is_relative_to(self._root)

    def _read(self, stamps: _Stamps) -> RunRow:
        """Read the added episodes, or the whole run if it changed otherwise."""
        run, before = self.open(), self._stamps
        if self._growing and before and _has_grown(before, stamps):
            try:
                return self._growing.row(self.id, self._place)
            except UserError:
                pass  # another file reuses the inode: read it from its start
        self._growing = _GrowingRun(run)
        return self._growing.row(self.id, self._place)


class _GrowingRun:
    """The part of a run that was read."""

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
    """Return whether lines may have been added without any other change."""
    old, new = before.episodes, now.episodes
    if before.config != now.config or new is None:
        return False
    return old is None or (old[:2] == new[:2] and old[2] <= new[2])

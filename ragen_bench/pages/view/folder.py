"""The runs in a folder, with their metrics so far; each is read again only where it changed.

Links are not followed, so nothing outside is read.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.people import count_people
from ragen_bench.runs.directory import EpisodeReader, RunDirectory, read_run
from ragen_bench.runs.json_lines import RESUME
from ragen_bench.runs.schema import EpisodeRecord, RunConfig
from ragen_bench.scores.metrics import group_by_instance, group_by_person
from ragen_bench.statistics import Estimate, clustered_bootstrap, mean, mean_estimate, mean_of

_Stamp = tuple[int, int, int, int] | None
"""Device, inode, size and change time of a file or folder; None if it is missing."""


class Figure(NamedTuple):
    """The main metric of a run: a rate in [0, 1] or a return, as a mean over environments."""

    of: Literal["success", "return"]
    mean: Estimate
    envs: int


class Tally:
    """Running totals of a run's episodes."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._by_env: defaultdict[str, list[EpisodeRecord]] = defaultdict(list)

    def add(self, episode: EpisodeRecord) -> None:
        """Add an episode."""
        self.outcomes[episode.outcome] += 1
        self._by_env[episode.env].append(replace(episode, turns=[], final_observation=""))

    def count_people(self) -> int:
        """Return the number of people who played, 0 for a model."""
        return count_people(each.player for played in self._by_env.values() for each in played)

    def figure(self) -> Figure | None:
        """Return the success rate if known, else the return of a single environment, or None."""
        envs = [*self._by_env.values()]
        if known := [e for e in envs if any(each.success is not None for each in e)]:
            by_person = [group_by_person(played, "success") for played in known]
            clusters = [group_by_instance(played, "success") for played in known]
            rates = list(map(mean_estimate, clusters, by_person))
            are_of_people = any(len(people) > 1 for people in by_person)
            return Figure("success", mean_of(rates, dependent=are_of_people), len(rates))
        if len(envs) != 1:
            return None
        returns = group_by_instance(envs[0], "episode_return")
        values = [value for cluster in returns for value in cluster]
        return Figure("return", Estimate(mean(values), clustered_bootstrap(returns)), 1)


class _Stamps(NamedTuple):
    """The state of a run directory, to detect changes."""

    config: _Stamp
    episodes: _Stamp
    folder: _Stamp


@dataclass(frozen=True)
class RunRow:
    """The row of a run; without a readable run.json it has a `problem` instead of a `config`."""

    id: str
    place: str
    config: RunConfig | None = None
    episodes: int = 0
    outcomes: tuple[str, ...] = ()
    figure: Figure | None = None
    problem: str = ""
    people: int = 0

    @property
    def state(self) -> str:
        """`complete`, `incomplete` or `unreadable`."""
        if self.config is None:
            return "unreadable"
        return "complete" if self.episodes == self.config.planned else "incomplete"


class ListedRun:
    """A run in a folder; the folder's path `root` has no links."""

    def __init__(self, root: Path, path: Path) -> None:
        self.id = hashlib.sha256(os.fsencode(path.relative_to(root))).hexdigest()[:16]
        self._root = root
        self._path = path
        self._stamps: _Stamps | None = None
        self._growing: tuple[RunConfig, EpisodeReader, Tally] | None = None
        self._place = str(path.relative_to(root))
        self._row = RunRow(self.id, self._place)

    def open(self) -> RunDirectory:
        """Open the run directory; a UserError if it is not one, or a link leaves the folder."""
        for file in self._path.iterdir():
            # Path.resolve raises for a link to itself, before Python 3.13.
            if file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(self._root):
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

    def _read(self, stamps: _Stamps) -> RunRow:
        """Read the added episodes, or the whole run if it changed otherwise."""
        run, before = self.open(), self._stamps
        if self._growing and before and _has_grown(before, stamps):
            try:
                return self._add_episodes(*self._growing)
            except UserError:
                pass  # another file reuses the inode: read it from its start
        self._growing = run.config, EpisodeReader(run.episodes_file, run.config), Tally()
        return self._add_episodes(*self._growing)

    def _add_episodes(self, config: RunConfig, reader: EpisodeReader, tally: Tally) -> RunRow:
        for _, episode in reader.added():
            tally.add(episode)
        outcomes = tally.outcomes
        figure = tally.figure()
        return RunRow(
            *(self.id, self._place, config, outcomes.total(), tuple(outcomes), figure),
            people=tally.count_people(),
        )


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


_MAX_DEPTH = 32
"""Maximum folder depth, since an untrusted folder may be arbitrarily deep."""


class RunsFolder:
    """The runs in a folder, which are read again only where they changed."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise UserError(
                f"{path} is not a folder; name one that holds runs of ragen-bench evaluate"
            )
        self.path = path
        self._root = path.resolve()
        self._runs: dict[Path, ListedRun] = {}
        self._links = self._unread = self._deep = 0

    def list_runs(self) -> tuple[list[RunRow], list[str]]:
        """Return the current runs, sorted by path, and notes on skipped folders."""
        self._find()
        notes = []
        if self._links:
            notes.append(f"Links to folders are not followed: {self._links} below this folder.")
        if self._unread:
            notes.append(f"Folders that cannot be read: {self._unread}.")
        if self._deep:
            notes.append(f"Folders more than {_MAX_DEPTH} deep are not looked into: {self._deep}.")
        return [run.row() for run in self._runs.values()], notes

    def run(self, id: str) -> ListedRun:
        """Return the run with an id, or raise UserError."""
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

        def count_unread(_error: OSError) -> None:
            self._unread += 1

        for folder, names, files in os.walk(self._root, onerror=count_unread):
            names[:] = sorted(name for name in names if not name.startswith("."))
            if names and len(Path(folder).relative_to(self._root).parts) >= _MAX_DEPTH:
                self._deep += 1
                names.clear()
            self._links += sum((Path(folder) / name).is_symlink() for name in names)
            if "run.json" in files:
                yield Path(folder)

"""A run directory: run.json, episodes.jsonl, timings.jsonl, faults.jsonl, summary.json.

`episodes.jsonl` grows by one line per episode, in the order in which they end; when the run is
complete, its lines are put into the order of the tasks. It is the same for two runs of the same
seeded model. Times are in `timings.jsonl`, failed requests in `faults.jsonl`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.atomic import replacing
from ragen_bench.runs.checked import (
    BadRecordError,
    read_config,
    read_fault,
    read_timing,
)
from ragen_bench.runs.config_check import config_problem
from ragen_bench.runs.episode_reader import EpisodeReader
from ragen_bench.runs.json_lines import (
    append,
    cut_torn_line,
    parse_lines,
    read_lines,
    read_whole,
    sync,
    write_whole,
)
from ragen_bench.runs.resume_check import differences
from ragen_bench.runs.schema import EpisodeRecord, Fault, Key, RunConfig, Timing

try:
    from filelock import FileLock, Timeout
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing

_LEFTOVERS = {".lock", "run.draft"}
"""Files of a process that was killed before it had written run.json."""
_MODEL_FIELDS = {"model_identity", "slots", "group_size", "machine"}
"""Fields of run.json that are unknown before the model is loaded."""


class RunDirectory:
    """A run on disk. Use `open_run` to write one, `read_run` to read one."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        self.path = path
        self.config = config
        self._lock = FileLock(path / ".lock")

    @property
    def episodes_file(self) -> Path:
        """File with one finished episode per line."""
        return self.path / "episodes.jsonl"

    @property
    def timings_file(self) -> Path:
        """File with the seconds of one played episode per line."""
        return self.path / "timings.jsonl"

    @property
    def faults_file(self) -> Path:
        """File with one unfinished episode per line, and the server's error."""
        return self.path / "faults.jsonl"

    def lock(self) -> None:
        """Keep other writers out as long as this process lives.

        Raises:
            UserError: If another process is writing.
        """
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise UserError(
                f"{self.path} is being written by another process; wait for it, or choose "
                "another --out",
                exit_code=1,
            ) from None

    def unlock(self) -> None:
        """Let other writers in."""
        self._lock.release()

    def repair(self) -> bool:
        """Cut off a torn last line of each file; return whether there was one."""
        files = self.episodes_file, self.timings_file, self.faults_file
        return sum(map(cut_torn_line, files)) > 0  # repairs all files, where any() would stop

    def append(self, episode: EpisodeRecord) -> None:
        """Append a finished episode.

        The operating system keeps it if this process is killed; `finish` flushes it to the disk.
        """
        append(self.episodes_file, episode.as_json())

    def append_timing(self, env: str, seconds: float, elapsed: float) -> None:
        """Append the seconds of an episode: its share of the run's, and those to its end."""
        append(self.timings_file, asdict(Timing(env, round(seconds, 6), round(elapsed, 6))))

    def append_fault(self, key: Key, reason: str) -> None:
        """Append an episode that a server left unfinished."""
        append(self.faults_file, asdict(Fault(*key, reason)))

    def finish(self, order: Iterable[Key]) -> None:
        """Flush all files to the disk, and sort the episodes of a complete run.

        So a run ends with the same bytes, however often it was interrupted and in whatever order
        its episodes ended.

        Args:
            order: Keys of all episodes in the final order.
        """
        for file in (self.episodes_file, self.timings_file, self.faults_file):
            sync(file)
        wanted = list(order)
        places = dict(self._find_lines())
        if list(places) != wanted and places.keys() == set(wanted):
            self._rewrite([places[key] for key in wanted])

    def _find_lines(self) -> Iterator[tuple[Key, tuple[int, int]]]:
        """Yield the keys of the recorded episodes with the offsets of their lines."""
        start = 0
        for line, episode in parse_lines(self.episodes_file):
            key = episode["env"], episode["split"], episode["index"], episode["sample"]
            yield key, (start, start + len(line))
            start += len(line)

    def _rewrite(self, places: Sequence[tuple[int, int]]) -> None:
        """Rewrite the file atomically with its lines in another order."""
        with self.episodes_file.open("rb") as lines, replacing(self.episodes_file) as ordered:
            for start, end in places:
                lines.seek(start)
                ordered.write(lines.read(end - start))
            ordered.flush()
            os.fsync(ordered.fileno())

    def faults(self) -> Iterator[Fault]:
        """Yield the unfinished episodes, which may have been played since.

        Raises:
            UserError: If a line of the file is invalid; the message has its number.
        """
        return (fault for _, _, fault in read_lines(self.faults_file, read_fault))

    def episodes(self) -> Iterator[EpisodeRecord]:
        """Yield the recorded episodes; a last line without a line end is skipped.

        Raises:
            UserError: If a line is not an episode of this run, or repeats one; the message has its
                number.
        """
        return (episode for _, episode in self.recorded())

    def recorded(self) -> Iterator[tuple[JsonObject, EpisodeRecord]]:
        """Yield the recorded episodes, each as a JSON object and as a record.

        Raises:
            UserError: As `episodes`.
        """
        return EpisodeReader(self.episodes_file, self.config).added()

    def seconds(self) -> dict[str, float]:
        """Return the seconds of the episodes by environment.

        Raises:
            UserError: If a line of the file is invalid; the message has its number.
        """
        total: dict[str, float] = {}
        for _, _, timing in read_lines(self.timings_file, read_timing):
            total[timing.env] = total.get(timing.env, 0.0) + timing.seconds
        return total

    def write_summary(self, summary: JsonObject) -> None:
        """Write summary.json."""
        write_whole(self.path / "summary.json", summary)


def open_run(path: Path, config: RunConfig) -> RunDirectory:
    """Return a locked run directory for a configuration, new or to be resumed.

    A run without a finished episode is replaced by one of another configuration.

    Raises:
        UserError: If the directory holds something else, or a run of another configuration.
    """
    _refuse_foreign(path)
    path.mkdir(parents=True, exist_ok=True)
    run = RunDirectory(path, config)
    # Only the holder of the lock may judge run.json: another process may be about to write it.
    run.lock()
    try:
        file = path / "run.json"
        recorded = _read_config(file) if file.is_file() else None
        if recorded and (_has_episodes(path) or not _differences(recorded, config.as_json())):
            _refuse_differences(path, recorded, config.as_json())
            run.config = recorded
        else:
            for rest in (run.episodes_file, run.timings_file, run.faults_file):
                rest.unlink(missing_ok=True)
            write_whole(file, config.as_json())
    except BaseException:
        run.unlock()
        raise
    return run


def refuse_other(path: Path, settings: JsonObject) -> None:
    """Refuse a directory that cannot hold a run with these settings, without changing it.

    Args:
        path: The directory.
        settings: A part of the content of run.json.

    Raises:
        UserError: If the directory holds something else, or a run of another configuration.
    """
    _refuse_foreign(path)
    file = path / "run.json"
    if file.is_file():
        recorded = _read_config(file)
        if _has_episodes(path):
            _refuse_differences(path, recorded, settings)


def read_run(path: Path) -> RunDirectory:
    """Return a run directory for reading.

    Raises:
        UserError: If the directory holds no run.
    """
    file = path / "run.json"
    if not file.is_file():
        raise UserError(f"{path} holds no run: there is no run.json")
    return RunDirectory(path, _read_config(file))


def _refuse_foreign(path: Path) -> None:
    """Refuse a directory that is not a run, before a lock file is put there."""
    if not path.exists():
        return
    if not path.is_dir():
        raise UserError(f"{path} is not a directory; choose another --out")
    foreign = {file.name for file in path.iterdir()} - _LEFTOVERS
    # Check run.json last: another process may write it while this one lists the directory.
    if foreign and not (path / "run.json").is_file():
        raise UserError(f"{path} is not empty and holds no run; choose another --out")


def _has_episodes(path: Path) -> bool:
    file = path / "episodes.jsonl"
    if not file.is_file():
        return False
    with file.open("rb") as lines:
        return lines.readline().endswith(b"\n")


def _read_config(file: Path) -> RunConfig:
    content = read_whole(file)
    try:
        config = read_config(content)
    except BadRecordError as error:
        raise UserError(f"{file} {error}; choose another --out") from None
    problem = config_problem(config)
    if problem:
        raise UserError(f"{file} {problem}; choose another --out")
    return config


def _refuse_differences(path: Path, recorded: RunConfig, wanted: JsonObject) -> None:
    differing = _differences(recorded, wanted)
    if differing:
        raise UserError(
            f"{path} holds a run of another configuration ({'; '.join(differing)}); "
            "choose another --out"
        )


def _differences(recorded: RunConfig, wanted: JsonObject) -> list[str]:
    """Return the differences of a run from settings, which may lack the model's."""
    there = recorded.as_json()
    if "model_identity" not in wanted:  # no model has been loaded yet
        there = {name: value for name, value in there.items() if name not in _MODEL_FIELDS}
        if there.get("opponent") is not None:
            there["opponent"] = {name: there["opponent"].get(name) for name in wanted["opponent"]}
    return differences(there, wanted)

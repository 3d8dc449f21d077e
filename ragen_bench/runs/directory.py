"""A run directory: run.json, episodes.jsonl, timings.jsonl, faults.jsonl, summary.json.

While people play, unfinished.jsonl has their responses in episodes that have not ended.

`episodes.jsonl` grows by one line per episode, in the order in which they end; when the run is
complete, its lines are put into the order of the tasks. It is the same for two runs of the same
seeded model. Times are in `timings.jsonl`, failed requests in `faults.jsonl`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.listed import keep_listed
from ragen_bench.reading import LINE_BYTES, open_file
from ragen_bench.runs.atomic import replacing, take_lock
from ragen_bench.runs.checked import (
    BadRecordError,
    read_config,
    read_episode,
    read_fault,
    read_timing,
)
from ragen_bench.runs.differences import find_differences
from ragen_bench.runs.json_lines import (
    append,
    bad_line,
    cut_torn_line,
    parse_lines,
    read_lines,
    read_whole,
    write_whole,
)
from ragen_bench.runs.schema import EpisodeRecord, Fault, Key, RunConfig, Timing
from ragen_bench.runs.specification import config_problem

_LEFTOVERS = {".lock", "run.draft"}
"""Files of a process that was killed before it had written run.json."""
_MODEL_FIELDS = {"model_identity", "slots", "group_size", "machine"}
"""Fields of run.json that are unknown before the model is loaded."""


class RunDirectory:
    """A run on disk. Use `open_run` to write one, `read_run` to read one."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        self.path = path
        self.config = config
        self.episodes_file = path / "episodes.jsonl"
        self.timings_file = path / "timings.jsonl"
        self.faults_file = path / "faults.jsonl"
        self.unfinished_file = path / "unfinished.jsonl"
        self.files = (
            *(self.episodes_file, self.timings_file, self.faults_file),
            self.unfinished_file,
        )

    def lock(self) -> None:
        """Keep other writers out as long as this process lives, or raise UserError."""
        self._lock = take_lock(self.path / ".lock", self.path)

    def unlock(self) -> None:
        """Let other writers in."""
        self._lock.release()

    def repair(self) -> bool:
        """Cut off a torn last line of each file; return whether there was one."""
        return sum(map(cut_torn_line, self.files)) > 0  # repairs all files, where any() would stop

    def append(self, episode: EpisodeRecord) -> None:
        """Append a finished episode; `finish` flushes it to the disk."""
        append(self.episodes_file, episode.as_json())

    def append_timing(self, env: str, seconds: float, elapsed: float) -> None:
        """Append the seconds of an episode: its share of the run's, and those to its end."""
        append(self.timings_file, asdict(Timing(env, round(seconds, 6), round(elapsed, 6))))

    def append_fault(self, key: Key, reason: str) -> None:
        """Append an episode that a server left unfinished."""
        append(self.faults_file, asdict(Fault(*key, reason)))

    def finish(self, order: Iterable[Key]) -> None:
        """Flush all files to the disk, and order the episodes of a complete run by the keys' order.

        So a run ends with the same bytes, however often it was interrupted and in whatever order
        its episodes ended.
        """
        for file in self.files:
            if file.is_file():
                with open_file(file) as written:
                    os.fsync(written.fileno())
        wanted = list(order)
        places, start = {}, 0
        for line, episode in parse_lines(self.episodes_file):
            key = episode["env"], episode["split"], episode["index"], episode["sample"]
            places[key] = start, len(line)
            start += len(line)
        if list(places) == wanted or places.keys() != set(wanted):
            return
        with open_file(self.episodes_file) as lines, replacing(self.episodes_file) as ordered:
            for start, length in map(places.__getitem__, wanted):
                lines.seek(start)
                ordered.write(lines.read(length))
            ordered.flush()
            os.fsync(ordered.fileno())

    def faults(self) -> Iterator[Fault]:
        """Yield the unfinished episodes, which may have been played since."""
        return (fault for _, _, fault in read_lines(self.faults_file, read_fault))

    def episodes(self) -> Iterator[EpisodeRecord]:
        """Yield the recorded episodes; a last line without a line end is skipped.

        A line that is not an episode of this run, or repeats one, raises UserError with its number.
        """
        return (episode for _, episode in self.recorded())

    def recorded(self) -> Iterator[tuple[JsonObject, EpisodeRecord]]:
        """Yield the recorded episodes, each as a JSON object and as a record; see `episodes`."""
        return EpisodeReader(self.episodes_file, self.config).added()

    def seconds(self) -> dict[str, float]:
        """Return the seconds of the episodes by environment."""
        total: dict[str, float] = {}
        for _, _, timing in read_lines(self.timings_file, read_timing):
            total[timing.env] = total.get(timing.env, 0.0) + timing.seconds
        return total

    def update_identity(self, config: RunConfig) -> None:
        """Record what was learned about the models while they were asked, in run.json."""
        before = self.config
        identity = keep_listed(before.model_identity, config.model_identity)
        opponent = config.opponent
        if opponent and before.opponent:
            listed = keep_listed(before.opponent.model_identity, opponent.model_identity)
            opponent = opponent.model_copy(update={"model_identity": listed})
        changed = {"model_identity": identity, "opponent": opponent}
        updated = self.config.model_copy(update=changed)
        if updated != self.config:
            self.config = updated
            write_whole(self.path / "run.json", updated.as_json())

    def write_summary(self, summary: JsonObject) -> None:
        """Write summary.json."""
        write_whole(self.path / "summary.json", summary)


def open_run(path: Path, config: RunConfig) -> RunDirectory:
    """Return a locked run directory for a configuration, new or to be resumed.

    A run without a finished episode is replaced by one of another configuration. A directory that
    holds something else, or a run of another configuration, raises UserError.
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
            if recorded.on_error != config.on_error:
                recorded = recorded.model_copy(update={"on_error": config.on_error})
                write_whole(file, recorded.as_json())
            run.config = recorded
        else:
            for rest in run.files:
                rest.unlink(missing_ok=True)
            write_whole(file, config.as_json())
    except BaseException:
        run.unlock()
        raise
    return run


def refuse_other(path: Path, settings: JsonObject) -> None:
    """Refuse a directory that cannot hold a run with these settings, without changing it."""
    _refuse_foreign(path)
    file = path / "run.json"
    if file.is_file():
        recorded = _read_config(file)
        if _has_episodes(path):
            _refuse_differences(path, recorded, settings)


def recorded_config(path: Path) -> RunConfig | None:
    """Return the configuration of a directory's run that has a finished episode; None without."""
    file = path / "run.json"
    return _read_config(file) if file.is_file() and _has_episodes(path) else None


def read_run(path: Path) -> RunDirectory:
    """Return a run directory for reading, or raise UserError."""
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
    if not file.exists():
        return False
    with open_file(file) as lines:
        return lines.readline(LINE_BYTES).endswith(b"\n")


def _read_config(file: Path) -> RunConfig:
    content = read_whole(file)
    try:
        config = read_config(content)
    except BadRecordError as error:
        raise UserError(f"{file} {error}; choose another --out") from None
    if problem := config_problem(config):
        raise UserError(f"{file} {problem}; choose another --out")
    return config


def _refuse_differences(path: Path, recorded: RunConfig, wanted: JsonObject) -> None:
    if differing := _differences(recorded, wanted):
        raise UserError(
            f"{path} holds a run of another configuration ({'; '.join(differing)}); "
            "choose another --out"
        )


def _differences(recorded: RunConfig, wanted: JsonObject) -> list[str]:
    """Return the differences of a run from settings, which may lack the model's.

    A run whose given-up episodes are excluded may go on as one in which they are failures.
    """
    there = recorded.as_json()
    if wanted.get("on_error") == "fail":
        there |= {"on_error": "fail"}
    if "model_identity" not in wanted:  # no model has been loaded yet
        there = {name: value for name, value in there.items() if name not in _MODEL_FIELDS}
        if there.get("opponent") is not None:
            there["opponent"] = {name: there["opponent"].get(name) for name in wanted["opponent"]}
    return find_differences(there, wanted)


class EpisodeReader:
    """Reads each episode of an episodes.jsonl once, also those that are appended meanwhile."""

    def __init__(self, file: Path, config: RunConfig) -> None:
        self._file = file
        self._config = config
        self._instances = {env.id: env.played for env in config.envs}
        self._lines: dict[Key, int] = {}
        self._end = 0

    def added(self) -> Iterator[tuple[JsonObject, EpisodeRecord]]:
        """Yield the unread episodes; an incomplete last line is skipped."""
        begin = self._end, len(self._lines) + 1
        for number, (line, content) in enumerate(parse_lines(self._file, begin=begin), begin[1]):
            try:
                episode = read_episode(content)
            except BadRecordError as error:
                raise bad_line(self._file, number, str(error)) from None
            first = self._lines.setdefault(episode.key, number)
            env, split, index, sample = episode.key
            if first != number:
                problem = f"repeats the episode of line {first}"
            elif split != self._config.split or env not in self._instances:
                problem = f"is of {env} {split}, which run.json does not name"
            elif index not in self._instances[env] or not 0 <= sample < self._config.samples:
                problem = f"is of instance {index}, sample {sample}, beyond run.json's"
            else:
                self._end += len(line)
                yield content, episode
                continue
            raise bad_line(self._file, number, problem)

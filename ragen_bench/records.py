"""What a run directory holds: run.json, episodes.jsonl, timings.jsonl, summary.json, report.html.

`episodes.jsonl` grows by one line an episode and is never rewritten. It holds nothing that two
runs of the same seeded model would not share; what the clock says is in `timings.jsonl`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError

try:
    from filelock import FileLock, Timeout
except ImportError as missing:
    raise UserError(
        f"ragen-bench needs {missing.name}: pip install 'ragen-bench[bench]'"
    ) from missing

SCHEMA = 1
Record = dict[str, Any]
Key = tuple[str, str, int, int]
_NOT_COMPARED = ("versions", "command")
_REQUIRED = {"env", "split", "index", "sample", "outcome", "success", "score", "turns"}


class RunDirectory:
    """A run on disk. Use `open_run` to write one, `read_run` to read one."""

    def __init__(self, path: Path, config: Record) -> None:
        self.path = path
        self.config = config
        self._lock = FileLock(path / ".lock")

    @property
    def episodes_file(self) -> Path:
        """The file with one finished episode a line."""
        return self.path / "episodes.jsonl"

    @property
    def timings_file(self) -> Path:
        """The file with one played group of episodes a line."""
        return self.path / "timings.jsonl"

    def lock(self) -> None:
        """Keep other writers out for as long as this process lives.

        Raises:
            UserError: if another process is writing.
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
        """Cut off a last line that was torn by a kill; return whether there was one."""
        return any([_cut_torn_line(self.episodes_file), _cut_torn_line(self.timings_file)])

    def append(self, records: Sequence[Record], timing: Record) -> None:
        """Add finished episodes, and what their group took, and bring them to the disk."""
        _append(self.episodes_file, records)
        _append(self.timings_file, [timing])

    def episodes(self) -> Iterator[Record]:
        """Yield the recorded episodes.

        Raises:
            UserError: if a line is no episode of this run, with its number.
        """
        envs = {env["id"]: env["instances"] for env in self.config["envs"]}
        for number, record in _lines(self.episodes_file):
            problem = self._problem(record, envs)
            if problem:
                raise UserError(
                    f"{self.episodes_file} line {number} {problem}; remove the line and resume, "
                    "or choose another --out",
                    exit_code=1,
                )
            yield record

    def seconds(self) -> dict[str, float]:
        """Return the seconds that the episodes of each environment took."""
        total: dict[str, float] = {}
        for _, timing in _lines(self.timings_file):
            for env, seconds in timing["seconds"].items():
                total[env] = total.get(env, 0.0) + seconds
        return total

    def write_summary(self, summary: Record) -> None:
        """Write summary.json."""
        _write_whole(self.path / "summary.json", summary)

    def _problem(self, record: Record, envs: dict[str, int]) -> str | None:
        missing = _REQUIRED - record.keys()
        if missing:
            return f"lacks {', '.join(sorted(missing))}"
        if record["split"] != self.config["split"] or record["env"] not in envs:
            return f"is of {record['env']} {record['split']}, which run.json does not name"
        inside = 0 <= record["index"] < envs[record["env"]]
        if not inside or not 0 <= record["sample"] < self.config["samples"]:
            return f"is of instance {record['index']}, sample {record['sample']}, beyond run.json's"
        return None


def key_of(record: Record) -> Key:
    """Return what tells an episode from the others of its run."""
    return record["env"], record["split"], record["index"], record["sample"]


def open_run(path: Path, config: Record) -> RunDirectory:
    """Return a locked run directory for a configuration, new or to be resumed.

    Raises:
        UserError: if the directory holds something else, or a run of another configuration.
    """
    file = path / "run.json"
    if file.is_file():
        found = _read_config(file)
        differing = _differences(found, config)
        if differing:
            raise UserError(
                f"{path} holds a run of another configuration ({'; '.join(differing)}); "
                "choose another --out"
            )
        run = RunDirectory(path, found)
        run.lock()
        return run
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(f"{path} is not empty and holds no run; choose another --out")
    path.mkdir(parents=True, exist_ok=True)
    run = RunDirectory(path, config)
    run.lock()
    _write_whole(file, config)
    return run


def read_run(path: Path) -> RunDirectory:
    """Return a run directory for reading.

    Raises:
        UserError: if it holds no run.
    """
    file = path / "run.json"
    if not file.is_file():
        raise UserError(f"{path} holds no run: there is no run.json")
    return RunDirectory(path, _read_config(file))


def _read_config(file: Path) -> Record:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{file} is not JSON ({error}); choose another --out") from None
    if not isinstance(config, dict) or config.get("schema") != SCHEMA:
        raise UserError(f"{file} is not a run of schema {SCHEMA}; choose another --out")
    return config


def _differences(found: Record, wanted: Record) -> list[str]:
    names = [name for name in {**wanted, **found} if name not in _NOT_COMPARED]
    return [
        f"{name}: {json.dumps(found.get(name))} there, {json.dumps(wanted.get(name))} here"
        for name in names
        if found.get(name) != wanted.get(name)
    ]


def _lines(file: Path) -> Iterator[tuple[int, Record]]:
    if not file.is_file():
        return
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            if not isinstance(record, dict):
                raise UserError(
                    f"{file} line {number} is not a JSON object; remove the line and resume",
                    exit_code=1,
                )
            yield number, record


def _append(file: Path, records: Sequence[Record]) -> None:
    with file.open("a", encoding="utf-8", newline="\n") as lines:
        for record in records:
            text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
            # Lone surrogates are legal in answers but not in UTF-8: those lines go out escaped.
            lines.write((text if _encodable(text) else json.dumps(record)) + "\n")
        lines.flush()
        os.fsync(lines.fileno())


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _cut_torn_line(file: Path) -> bool:
    if not file.is_file():
        return False
    data = file.read_bytes()
    end = data.rfind(b"\n") + 1
    if end == len(data):
        return False
    os.truncate(file, end)
    return True


def _write_whole(file: Path, content: Record) -> None:
    """Write a file so that a reader sees the old or the new one, never a part."""
    draft = file.with_suffix(".draft")
    draft.write_text(
        json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n"
    )
    draft.replace(file)

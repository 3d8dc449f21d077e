"""Files of a training run that may be another's: read with checks, and written nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.days import is_day
from ragen_bench.reading import open_file
from ragen_bench.runs.differences import brief
from ragen_bench.runs.json_lines import bad_line, numbered, read_whole

DRIVER = "driver.txt"
START = "start.json"
DATE = "date"
_LONGEST_NAME = 80
_OTHER_VERSION = "(another version)"
_NUMBERS = ("metrics.jsonl", "timings.jsonl")


def check_files(path: Path) -> None:
    """Raise UserError for a link or a device, by which a run would be written elsewhere."""
    for folder in (path, path / "checkpoints", path / "rollouts"):
        for entry in os.scandir(folder) if folder.is_dir() else ():
            if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
                raise UserError(
                    f"{entry.path} is a link or a device, and a run has files and folders alone; "
                    "remove it, or choose another --out"
                )


def read_start(path: Path) -> JsonObject:
    """Return the numbers and the date of `start.json`; empty if there is none."""
    file = path / START
    content = read_whole(file) if file.exists() else {}
    metrics = {name: value for name, value in content.items() if name != DATE}
    problem = _find_text(metrics)
    if DATE in content and not is_day(content[DATE]):
        problem = f"{DATE} is not a date"
    if problem:
        raise UserError(f"{file}: {problem}; choose another --out")
    return content


def read_lines(file: Path) -> Iterator[JsonObject]:
    """Yield the complete lines of a file; a torn last one is skipped.

    UserError for a line without an iteration, or with another value than numbers where only these
    are expected.
    """
    for number, line in numbered(file):
        if type(line.get("iteration")) is not int:
            raise bad_line(file, number, "has no iteration")
        if file.name in _NUMBERS and (problem := _find_text(line)):
            raise bad_line(file, number, f"has a wrong value: {problem}")
        yield line


def _find_text(metrics: JsonObject) -> str:
    """Return a description of the first metric that is not a number, or ""."""
    names = (name for name, value in metrics.items() if type(value) not in (int, float))
    return next((f"{brief(name)} is not a number" for name in names), "")


def read_driver(checkpoint: Path) -> str:
    """Return the driver that wrote a checkpoint."""
    file = checkpoint / DRIVER
    if not file.is_file():
        return _OTHER_VERSION
    with open_file(file) as content:
        name = content.read(_LONGEST_NAME).decode("utf-8", "replace").strip()
    return name if name.isascii() and name.isidentifier() else _OTHER_VERSION

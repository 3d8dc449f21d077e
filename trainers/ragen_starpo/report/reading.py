"""Reads the files of a training run, finished or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.runs.json_lines import numbered, read_whole

Line = dict[str, Any]
_RESTORE = "restore it from a copy, or report another run"


@dataclass(frozen=True)
class TrainingRun:
    """The contents of a run's files.

    Attributes:
        path: The run directory.
        recipe: All settings.
        start: Held-out metrics of the first model; may be empty.
        metrics: One line for each iteration.
        timings: One line for each iteration.
        warnings: Warnings of the echo trap; may be empty.
    """

    path: Path
    recipe: dict[str, Any]
    start: Line
    metrics: list[Line]
    timings: list[Line]
    warnings: list[Line]


def read_training_run(path: Path) -> TrainingRun:
    """Return the contents of a run's files so far.

    Raises:
        UserError: The directory is not a training run, has no iteration yet, or holds a broken
            line.
    """
    file = path / "recipe.json"
    if not file.is_file():
        raise UserError(f"{path} is not a training run: it has no recipe.json")
    start_file = path / "start.json"
    start = read_whole(start_file, _RESTORE) if start_file.exists() else {}
    metrics = _lines(path / "metrics.jsonl")
    if not metrics:
        raise UserError(f"{path} holds no finished iteration yet", exit_code=1)
    others = (_lines(path / f"{name}.jsonl") for name in ("timings", "warnings"))
    return TrainingRun(path, read_whole(file, _RESTORE), start, metrics, *others)


def _lines(file: Path) -> list[Line]:
    """Return the complete lines; the last one may still be being written."""
    return [line for _, line in numbered(file)]

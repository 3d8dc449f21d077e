"""Reads the files of a training run, also while it goes on."""

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
    """The files of a run, read.

    Attributes:
        path: the run directory.
        recipe: all settings.
        start: held-out figures of the model that training began with; may be empty.
        metrics: one line for each iteration.
        timings: one line for each iteration.
        warnings: warnings of the echo trap; may be empty.
    """

    path: Path
    recipe: dict[str, Any]
    start: Line
    metrics: list[Line]
    timings: list[Line]
    warnings: list[Line]


def read_training_run(path: Path) -> TrainingRun:
    """Return the files of a run so far.

    Raises:
        UserError: if the directory does not hold a training run, has no iteration yet, or holds a
            broken line.
    """
    file = path / "recipe.json"
    if not file.is_file():
        raise UserError(f"{path} is not a training run: it has no recipe.json")
    began = path / "start.json"
    start = read_whole(began, _RESTORE) if began.exists() else {}
    metrics = _lines(path / "metrics.jsonl")
    if not metrics:
        raise UserError(f"{path} holds no finished iteration yet", exit_code=1)
    others = (_lines(path / f"{name}.jsonl") for name in ("timings", "warnings"))
    return TrainingRun(path, read_whole(file, _RESTORE), start, metrics, *others)


def _lines(file: Path) -> list[Line]:
    """Return the whole lines; a torn last one is still being written."""
    return [line for _, line in numbered(file)]

"""Reads what a training run left, also while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.runs.json_lines import numbered, read_whole

Line = dict[str, Any]


@dataclass(frozen=True)
class Left:
    """The files of a run, read.

    Attributes:
        path: of the run directory.
        recipe: all settings.
        start: the held-out figures of the model that training began with; there may be none.
        metrics: a line for each iteration.
        timings: the same.
        warnings: of the echo trap; there may be none.
    """

    path: Path
    recipe: dict[str, Any]
    start: Line
    metrics: list[Line]
    timings: list[Line]
    warnings: list[Line]


def read_left(path: Path) -> Left:
    """Return what a run left so far.

    Raises:
        UserError: if the directory is of no training run, has no iteration yet, or holds a broken
            line.
    """
    file = path / "recipe.json"
    if not file.is_file():
        raise UserError(f"{path} is no training run: it has no recipe.json")
    began = path / "start.json"
    start = read_whole(began) if began.exists() else {}
    metrics = _lines(path / "metrics.jsonl")
    if not metrics:
        raise UserError(f"{path} holds no finished iteration yet", exit_code=1)
    others = (_lines(path / f"{name}.jsonl") for name in ("timings", "warnings"))
    return Left(path, read_whole(file), start, metrics, *others)


def _lines(file: Path) -> list[Line]:
    """Return whole lines: a torn last one is being written, or was when the power went."""
    return [line for _, line in numbered(file)]

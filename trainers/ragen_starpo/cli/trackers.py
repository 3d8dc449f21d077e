"""Trackers, which receive the metrics of each iteration, and that of TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from torch.utils.tensorboard import SummaryWriter


class Tracker(AbstractContextManager[object], Protocol):
    """A context that receives the metrics of each iteration."""

    def write(self, number: int, metrics: Mapping[str, float]) -> None:
        """Take the metrics of an iteration, by name."""


class EventFiles:
    """Writes metrics as scalars into TensorBoard's event files; a context that closes them.

    Files of an earlier start of the run stay. Readers purge their values of iterations that are
    repeated.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: SummaryWriter | None = None

    def __enter__(self) -> EventFiles:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, number: int, metrics: Mapping[str, float]) -> None:
        """Write the metrics of an iteration; older files are purged from the first one on."""
        if self._writer is None:
            self._writer = SummaryWriter(str(self._folder), purge_step=number)
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, number)
        self._writer.flush()

"""A run's figures as event files that TensorBoard reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter


class EventFiles:
    """Writes figures as scalars.

    To be used as a context, which closes the files.

    Args:
        folder: of the files. Those of an earlier start of the run stay; what they hold of the
            iterations that are played again is purged when they are read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None

    def __enter__(self) -> EventFiles:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, number: int, figures: Mapping[str, float]) -> None:
        """Write an iteration; the first one decides from where on older files are purged.

        Args:
            number: of the iteration, from 0 on.
            figures: by name.
        """
        if self._writer is None:
            self._writer = SummaryWriter(str(self._folder), purge_step=number)
        for name, value in figures.items():
            self._writer.add_scalar(name, value, number)
        self._writer.flush()

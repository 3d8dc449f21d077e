"""The check that an entry holds exactly the planned episodes, each once and in order."""

from __future__ import annotations

from collections.abc import Sequence

from ragen_bench.episodes.episode import Task
from ragen_bench.runs.schema import EpisodeRecord


class Roll:
    """Ticks off the planned episodes as they come.

    Args:
        tasks: the plan, in the order of the record.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._places = {task.key: place for place, task in enumerate(tasks)}
        self._lines = [0] * len(tasks)
        self._last = -1

    def problem(self, record: EpisodeRecord, line: int) -> str | None:
        """Tick off an episode; return why it may not stand here, or None.

        Args:
            record: an episode whose key is one of the plan's.
            line: its number in the file.
        """
        place = self._places[record.key]
        if self._lines[place]:
            return f"is there twice, in line {self._lines[place]} first"
        self._lines[place] = line
        if place < self._last:
            return "is out of order: it belongs before the episode of the line above"
        self._last = place
        return None

    def missing(self) -> str | None:
        """Return which planned episodes have not come, or None."""
        absent = [
            task.name for task, line in zip(self._tasks, self._lines, strict=True) if not line
        ]
        if not absent:
            return None
        return f"{len(absent)} of {len(self._tasks)} episodes are missing, first {absent[0]}"

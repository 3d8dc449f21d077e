"""OpenEnv's task API: lists splits and their instances by index."""

from __future__ import annotations

from typing import Any

from ragen_envs.core.instances import Split
from ragen_envs.integrations.openenv.served import RefusedError, Served

PREVIEW = 1024
"""Number of tasks listed of a large split; ranges give the others."""
MAX_RANGE = 4096
"""Maximum number of tasks in one range."""
_KINDS = {"train": "train", "val": "validation"}


class TaskApi:
    """OpenEnv's task provider, which lists tasks without their content.

    A task is `{"id": "test-12", "split": "test", "index": 12}`; its index goes to `reset`.
    """

    _served: Served

    def list_splits(self) -> list[dict[str, str]]:
        """Return the served splits, each with OpenEnv's kind."""
        return [{"name": name, "type": _KINDS.get(name, "test")} for name in self._served.sizes]

    def num_tasks(self, split: str) -> int:
        """Return the number of instances of a split; 2**53 for an infinite one.

        Raises:
            RefusedError: The split is not served.
        """
        return self._served.sizes[check_split(self._served, split)]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return the tasks of a split, at most the first 1,024.

        Raises:
            RefusedError: The split is not served.
        """
        return self.get_task_range(split, 0, min(PREVIEW, self.num_tasks(split)))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return one task.

        Raises:
            RefusedError: The split is not served.
            IndexError: The split does not have the index.
        """
        if not 0 <= index < self.num_tasks(split):
            raise IndexError(index)
        return _task(split, index)

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the tasks of a slice.

        Raises:
            RefusedError: The split is not served, or the range has more than 4,096 tasks.
        """
        indices = range(self.num_tasks(split))[start:stop]
        if len(indices) > MAX_RANGE:
            raise RefusedError(f"a range has at most {MAX_RANGE} tasks, not {len(indices)}")
        return [_task(split, index) for index in indices]


def check_split(served: Served, split: str | None) -> Split:
    """Return a served split, the default for None; refuse any other."""
    for known in served.sizes:
        if split in (None, known):
            return known
    names = ", ".join(served.sizes)
    raise RefusedError(f"split {str(split)[:40]!r} is not served here; choose from {names}")


def check_index(name: str, value: Any) -> int:
    """Return a non-negative int; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RefusedError(f"{name} is an int of at least 0, got {str(value)[:40]!r}")
    return value


def _task(split: str, index: int) -> dict[str, Any]:
    return {"id": f"{split}-{index}", "split": split, "index": index}

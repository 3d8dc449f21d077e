"""OpenEnv's task API: which splits there are, and the instances of each by their indices."""

from __future__ import annotations

from typing import Any

from ragen_envs.core.instances import Split
from ragen_envs.integrations.openenv.errors import RefusedError
from ragen_envs.integrations.openenv.served import Served

PREVIEW = 1024
"""Tasks that are listed of a split with more of them; ranges give the others."""
MOST = 4096
"""Tasks in one range."""
_KINDS = {"train": "train", "val": "validation"}


class TaskApi:
    """What OpenEnv calls a task provider: it plays nothing, and tells no instance.

    A task is `{"id": "test-12", "split": "test", "index": 12}`; its index goes to `reset`.
    """

    _served: Served

    def list_splits(self) -> list[dict[str, str]]:
        """Return the splits that are served, each with the kind that OpenEnv has for it."""
        return [{"name": name, "type": _KINDS.get(name, "test")} for name in self._served.sizes]

    def num_tasks(self, split: str) -> int:
        """Return how many instances a split has; 2**53 for one without an end.

        Raises:
            RefusedError: for a split that is not served.
        """
        return self._served.sizes[refuse_split(self._served, split)]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return the tasks of a split, the first 1,024 if it has more.

        Raises:
            RefusedError: for a split that is not served.
        """
        return self.get_task_range(split, 0, min(PREVIEW, self.num_tasks(split)))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return one task.

        Raises:
            RefusedError: for a split that is not served.
            IndexError: for an index that it does not have.
        """
        if not 0 <= index < self.num_tasks(split):
            raise IndexError(index)
        return _task(split, index)

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the tasks from start to before stop, which count as in a slice.

        Raises:
            RefusedError: for a split that is not served, or more than 4,096 tasks.
        """
        wanted = range(self.num_tasks(split))[start:stop]
        if len(wanted) > MOST:
            raise RefusedError(f"a range has at most {MOST} tasks, not {len(wanted)}")
        return [_task(split, index) for index in wanted]


def refuse_split(served: Served, split: str | None) -> Split:
    """Return a split that is served, the default for None.

    Raises:
        RefusedError: for any other.
    """
    for known in served.sizes:
        if split in (None, known):
            return known
    names = ", ".join(served.sizes)
    raise RefusedError(f"split {str(split)[:40]!r} is not served here; choose from {names}")


def whole(name: str, value: Any) -> int:
    """Return an int of at least 0.

    Raises:
        RefusedError: for anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RefusedError(f"{name} is an int of at least 0, got {str(value)[:40]!r}")
    return value


def _task(split: str, index: int) -> dict[str, Any]:
    return {"id": f"{split}-{index}", "split": split, "index": index}

"""The noise of a group's members, where a trainer repeats a task and does not number the copies."""

from __future__ import annotations

import os
from collections import Counter
from threading import Lock

from ragen_envs.core.instances import Split


class Rollouts:
    """Numbers the episodes of each instance, so that those of a group differ in their noise.

    Args:
        first: the number of an instance's first episode.
        step: how much greater the next one's is.
    """

    def __init__(self, first: int = 0, step: int = 1) -> None:
        self._first, self._step = first, step
        self._begun: Counter[tuple[str, Split, int]] = Counter()
        self._lock = Lock()

    @classmethod
    def of_process(cls) -> Rollouts:
        """Return numbers that no other process of the same run gives.

        Launchers such as torchrun say which process of how many this is, in RANK and WORLD_SIZE.
        """
        return cls(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))

    def next(self, env: str, split: Split, seed: int) -> int:
        """Return the noise seed of an instance's next episode.

        Args:
            env: the environment's id.
            split: where the instance comes from.
            seed: which instance it is.
        """
        with self._lock:
            begun = self._begun[env, split, seed]
            self._begun[env, split, seed] += 1
        return self._first + begun * self._step

"""Noise seeds of a group's members, for trainers that do not number the copies of a task."""

from __future__ import annotations

import os
from collections import Counter
from threading import Lock

from ragen_envs.core.instances import Split


class NoiseSeedCounter:
    """Counts the episodes of each instance, so that those of a group differ in their noise.

    Args:
        first: Noise seed of an instance's first episode.
        step: Increase from one episode to the next.
    """

    def __init__(self, first: int = 0, step: int = 1) -> None:
        self._first, self._step = first, step
        self._begun: Counter[tuple[str, Split, int]] = Counter()
        self._lock = Lock()

    @classmethod
    def of_process(cls) -> NoiseSeedCounter:
        """Return a counter whose seeds no other process of the run uses.

        Launchers such as torchrun set RANK and WORLD_SIZE.
        """
        return cls(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))

    def next(self, env: str, split: Split, seed: int) -> int:
        """Return the noise seed of an instance's next episode.

        Args:
            env: Id of the environment.
            split: Split of the instance.
            seed: Index of the instance.
        """
        with self._lock:
            begun = self._begun[env, split, seed]
            self._begun[env, split, seed] += 1
        return self._first + begun * self._step

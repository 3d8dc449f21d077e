"""Tasks in plain values, and noise seeds for trainers that do not number the copies of a task."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock

from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat


@dataclass(frozen=True, slots=True)
class Task:
    """One instance with one noise seed, in plain values for data sets.

    Attributes:
        env: Id of Gymnasium's registry, or MODULE:ID to import the module that registers it.
        seed: Index of the instance in the split.
        noise_seed: Seed of the noise; the members of a group differ in it only.
        split: Split of the instance.
        response_format: Format of the responses.
    """

    env: str
    seed: int
    noise_seed: int = 0
    split: Split = "train"
    response_format: AnswerFormat = "think"


def tasks(
    env: str,
    instances: int,
    rollouts: int = 1,
    *,
    split: Split = "train",
    response_format: AnswerFormat = "think",
    first_seed: int = 0,
) -> Iterator[Task]:
    """Return the tasks of several instances, the rollouts of an instance one after another.

    Args:
        env: Id, see `Task`.
        instances: Number of instances.
        rollouts: Number of rollouts per instance, with noise seeds from 0.
        split: Split of the instances.
        response_format: Format of the responses.
        first_seed: Seed of the first instance.

    Raises:
        ValueError: A number is out of range.
    """
    for name, value, least in (
        ("instances", instances, 1),
        ("rollouts", rollouts, 1),
        ("first_seed", first_seed, 0),
    ):
        if value < least:
            raise ValueError(f"{name} is at least {least}, got {value}")
    return (
        Task(env, seed, noise_seed, split, response_format)
        for seed in range(first_seed, first_seed + instances)
        for noise_seed in range(rollouts)
    )


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

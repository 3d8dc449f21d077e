"""What one episode is of: an environment, an instance and its noise, in plain values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat


@dataclass(frozen=True, slots=True)
class Task:
    """One instance with one course of noise; its fields are plain values, as data sets hold them.

    Attributes:
        env: an id of Gymnasium's registry, or MODULE:ID to import the module that registers it.
        seed: which instance of the split, from 0 on.
        noise_seed: which noise; the members of a group differ in it alone.
        split: where the instance comes from.
        response_format: the form of the answers.
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
    """Return the tasks of so many instances, the rollouts of an instance side by side.

    Args:
        env: as a task's.
        instances: how many, from `first_seed` on.
        rollouts: of each instance, from 0 on.
        split: as a task's.
        response_format: as a task's.
        first_seed: of the first instance.

    Raises:
        ValueError: for a number that is out of range.
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

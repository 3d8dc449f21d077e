"""Tasks: an environment, an instance and its noise, in plain values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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

"""The rows of a data set for TRL, from tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from datasets import Dataset

from ragen_envs.integrations.bridging import Task


def rows(tasks: Iterable[Task], own_noise: bool = True) -> Iterator[dict[str, Any]]:
    """Yield a row for each task, of plain values.

    A row holds a `prompt` of one empty message of the user, to which TRL adds the first
    observation; the id as `environment`, by which TRL chooses among several classes; `seed`,
    `rollout` and `split`. The tasks' response format is not used: calls have a form of their own.

    Args:
        tasks: see `ragen_envs.integrations.bridging.tasks`.
        own_noise: whether each copy that TRL makes of a row has noise of its own, as the members of
            a group have; else all have the task's noise seed, for an evaluation.
    """
    for task in tasks:
        yield {
            "prompt": [{"role": "user", "content": ""}],
            "environment": task.env,
            "seed": task.seed,
            "rollout": None if own_noise else task.noise_seed,
            "split": task.split,
        }


def dataset(tasks: Iterable[Task], own_noise: bool = True) -> Dataset:
    """Return the rows of tasks as a data set for the trainer; arguments are those of `rows`."""
    return Dataset.from_list([*rows(tasks, own_noise)])

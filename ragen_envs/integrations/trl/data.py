"""Makes the rows of a data set for TRL from tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from datasets import Dataset

from ragen_envs.integrations.bridging import Task


def rows(tasks: Iterable[Task], own_noise: bool = True) -> Iterator[dict[str, Any]]:
    """Yield a row for each task, of plain values.

    A row holds a `prompt` of one empty user message, to which TRL adds the first observation; the
    id as `environment`, by which TRL selects one of several classes; `seed`, `rollout` and `split`.
    The tasks' response format is ignored, since tool calls have their own.

    Args:
        tasks: Tasks, as of `ragen_envs.integrations.bridging.tasks`.
        own_noise: Give each of TRL's copies of a row noise of its own, as in training. Otherwise
            all have the task's noise seed, as in an evaluation.
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
    """Return `rows` as a data set for the trainer."""
    return Dataset.from_list([*rows(tasks, own_noise)])

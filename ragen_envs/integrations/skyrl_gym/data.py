"""Makes the rows of a data set for SkyRL from tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ragen_envs.core.game_spec import NAMESPACE
from ragen_envs.integrations.bridging import Episode, Task
from ragen_envs.registration import IDS


def rows(tasks: Iterable[Task], own_noise: bool = True) -> Iterator[dict[str, Any]]:
    """Yield a row for each task, of plain values.

    A row holds the `prompt` with the first observation, whose length SkyRL filters by, SkyRL's
    `env_class`, and the task's fields.

    Args:
        tasks: Tasks, as of `ragen_envs.integrations.bridging.tasks`.
        own_noise: Give each of SkyRL's copies of a row noise of its own, as in training. Otherwise
            all have the task's noise seed, as in an evaluation.

    Raises:
        ValueError: If a task cannot be played.
    """
    episodes: dict[tuple[str, str, str], Episode] = {}
    for task in tasks:
        key = task.env, task.split, task.response_format
        if key not in episodes:
            episodes[key] = Episode(*key)
        first = episodes[key].reset(task.seed, task.noise_seed)
        yield {
            "prompt": [{"role": "user", "content": first}],
            "env_class": task.env if task.env in IDS else NAMESPACE,
            "env": task.env,
            "seed": task.seed,
            "rollout": None if own_noise else task.noise_seed,
            "split": task.split,
            "response_format": task.response_format,
        }

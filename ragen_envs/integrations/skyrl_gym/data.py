"""The rows of a data set for SkyRL, from tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ragen_envs.core.game_spec import NAMESPACE
from ragen_envs.integrations.bridging import Episode, Task
from ragen_envs.registration import IDS


def rows(tasks: Iterable[Task], own_noise: bool = True) -> Iterator[dict[str, Any]]:
    """Yield a row for each task, of plain values.

    A row holds the `prompt` with the first observation, by whose length SkyRL leaves rows out; the
    `env_class` that SkyRL asks for; and the task's fields.

    Args:
        tasks: see `ragen_envs.integrations.bridging.tasks`.
        own_noise: whether each copy that SkyRL makes of a row has noise of its own, as the members
            of a group have; else all have the task's noise seed, for an evaluation.

    Raises:
        ValueError: for a task that cannot be played.
    """
    episodes: dict[tuple[str, str, str], Episode] = {}
    for task in tasks:
        place = task.env, task.split, task.response_format
        if place not in episodes:
            episodes[place] = Episode(*place)
        first = episodes[place].reset(task.seed, task.noise_seed)
        yield {
            "prompt": [{"role": "user", "content": first}],
            "env_class": task.env if task.env in IDS else NAMESPACE,
            "env": task.env,
            "seed": task.seed,
            "rollout": None if own_noise else task.noise_seed,
            "split": task.split,
            "response_format": task.response_format,
        }

"""Lines of a data set: the task that an episode plays, in NeMo Gym's own keys and ours.

A line's `noise_seed` is that of its episode. Without one, the members of a group differ: the noise
seed is NeMo Gym's index of the rollout, or counted where a trainer gives none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields, replace

from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import Episode, NoiseSeedCounter, Task, check_seed

ROLLOUT_KEY = "_ng_rollout_index"
"""NeMo Gym's index of a rollout among those of its line."""


def lines(tasks: Iterable[Task], agent: str, own_noise: bool = True) -> Iterator[Info]:
    """Yield the line of each task; NeMo Gym appends the first observation to its empty input.

    Args:
        tasks: Tasks, as of `ragen_envs.integrations.bridging.tasks`.
        agent: Name of the agent in the configuration.
        own_noise: Leave the noise seed out, so that each rollout of a line has noise of its own, as
            in training. Otherwise all rollouts of a line have the task's.

    Raises:
        ValueError: A task cannot be played.
    """
    for task in tasks:
        episode, _ = begin(task)
        episode.close()
        yield {
            "responses_create_params": {"input": []},
            "agent_ref": {"type": "responses_api_agents", "name": agent},
            **asdict(task),
            "noise_seed": None if own_noise else task.noise_seed,
        }


def read_task(line: Info, counter: NoiseSeedCounter) -> Task:
    """Return the task of a line with its noise seed.

    Raises:
        ValueError: The line has no `env` or no `seed`, or a value of another type.
    """
    if missing := [name for name in ("env", "seed") if line.get(name) is None]:
        raise ValueError(
            f"the line has no {missing[0]}; `ragen-envs package ID --nemo-gym` writes whole lines"
        )
    given = {one.name: line[one.name] for one in fields(Task) if line.get(one.name) is not None}
    for name in ("env", "split", "response_format"):
        if not isinstance(given.get(name, ""), str):
            raise ValueError(f"the line's {name} is a text, got {given[name]!r}")
    for name in ("seed", "noise_seed"):
        check_seed(name, given.get(name, 0))
    task = Task(**given)
    if "noise_seed" in given:
        return task
    index = line.get(ROLLOUT_KEY)
    if index is None:
        index = counter.next(task.env, task.split, task.seed)
    return replace(task, noise_seed=index)


def begin(task: Task) -> tuple[Episode, str]:
    """Return the episode of a task with its first observation.

    Raises:
        ValueError: The task cannot be played, or its split has no such instance.
    """
    episode = Episode(task.env, task.split, task.response_format)
    observation = episode.reset(task.seed, task.noise_seed)
    if episode.instances is not None and task.seed >= episode.instances:
        last = episode.instances - 1
        episode.close()
        raise ValueError(f"{task.env} has instances 0 to {last} in {task.split}, not {task.seed}")
    return episode, observation

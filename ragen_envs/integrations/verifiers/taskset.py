"""The taskset: the instances of an environment, each with as many rollouts as are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import verifiers.v1 as vf
from pydantic import Field, model_validator

from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.integrations.bridging import Episode, tasks
from ragen_envs.integrations.verifiers.task import TextEnvData, TextEnvTask


class TextEnvConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which tasks there are."""

    env: str = "ragen/Sokoban-v0"
    """An id of Gymnasium's registry, or MODULE:ID to import the module that registers it."""
    split: Split = "train"
    """Where instances come from."""
    response_format: ResponseFormat = "think"
    """The form of the answers."""
    instances: int = Field(32, ge=1)
    """How many, from `first_seed` on."""
    rollouts: int = Field(1, ge=1)
    """Tasks of each instance, each with noise of its own: a group."""
    first_seed: int = Field(0, ge=0)
    """Of the first instance."""

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        """Refuse what cannot be made while options are read, where it is one line."""
        self.episode().close()
        return self

    def episode(self) -> Episode:
        """Return an environment of the tasks.

        Raises:
            ValueError: if it cannot be made, with what to do.
        """
        return Episode(self.env, self.split, self.response_format)


class TextEnvTaskset(vf.Taskset[TextEnvTask, TextEnvConfig]):  # type: ignore[misc]
    """The instances of an environment; the rollouts of an instance lie side by side."""

    def load(self) -> Iterator[TextEnvTask]:
        """Yield the tasks, each with its first observation as prompt."""
        wanted = self.config
        episode = wanted.episode()
        for task in tasks(
            wanted.env,
            wanted.instances,
            wanted.rollouts,
            split=wanted.split,
            response_format=wanted.response_format,
            first_seed=wanted.first_seed,
        ):
            group = f"{task.env}/{task.split}/{task.seed}"
            data = TextEnvData(
                id=f"{group}/{task.noise_seed}",
                name=f"{group}/{task.noise_seed}",
                prompt=episode.reset(task.seed, task.noise_seed),
                env=task.env,
                seed=task.seed,
                rollout=task.noise_seed,
                split=task.split,
                response_format=task.response_format,
                group=group,
            )
            yield TextEnvTask(data, wanted.task)
        episode.close()

"""The taskset: instances of an environment, each with a number of rollouts."""

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
    """Settings of the tasks."""

    env: str = "ragen/Sokoban-v0"
    """Id in Gymnasium's registry, or MODULE:ID to import the module that registers it."""
    split: Split = "train"
    """Split of the instances."""
    response_format: ResponseFormat = "think"
    """Format of the responses."""
    instances: int = Field(32, ge=1)
    """Number of instances, from `first_seed`."""
    rollouts: int = Field(1, ge=1)
    """Number of tasks of each instance, with different noise: a group."""
    first_seed: int = Field(0, ge=0)
    """Index of the first instance."""

    @model_validator(mode="after")
    def _check_environment(self) -> Self:
        """Reject invalid settings early, where the error is one line."""
        self.episode().close()
        return self

    def episode(self) -> Episode:
        """Return an environment of the tasks.

        Raises:
            ValueError: If it cannot be made.
        """
        return Episode(self.env, self.split, self.response_format)


class TextEnvTaskset(vf.Taskset[TextEnvTask, TextEnvConfig]):  # type: ignore[misc]
    """The instances of an environment; the rollouts of an instance are adjacent."""

    def load(self) -> Iterator[TextEnvTask]:
        """Yield the tasks, each with its first observation as prompt."""
        config = self.config
        episode = config.episode()
        for task in tasks(
            config.env,
            config.instances,
            config.rollouts,
            split=config.split,
            response_format=config.response_format,
            first_seed=config.first_seed,
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
            yield TextEnvTask(data, config.task)
        episode.close()

"""The core of all bridges to other projects: tasks, and episodes of text."""

from ragen_envs.integrations.bridging.episode import Episode, Turn
from ragen_envs.integrations.bridging.task import NoiseSeedCounter, Task, tasks

__all__ = ["Episode", "NoiseSeedCounter", "Task", "Turn", "tasks"]

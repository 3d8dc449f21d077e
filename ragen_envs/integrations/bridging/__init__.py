"""What every bridge to another project plays: a task, and one episode of it, as text."""

from ragen_envs.integrations.bridging.episode import Episode, Turn
from ragen_envs.integrations.bridging.rollouts import Rollouts
from ragen_envs.integrations.bridging.task import Task, tasks

__all__ = ["Episode", "Rollouts", "Task", "Turn", "tasks"]

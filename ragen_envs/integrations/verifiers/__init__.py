"""Text environments as a taskset and an environment of verifiers (`verifiers.v1`).

Needs the extra `verifiers`, in an environment without the extra `openai`, since verifiers requires
an older version of it. Its commands find it by the name of its plugin:

    vf-eval ragen-verifiers --env.taskset.env ragen/Sokoban-v0 -n 8 --model NAME

Conversely, `TasksetEnv` is a Gymnasium environment of any taskset of verifiers.
"""

from ragen_envs.core import extras

with extras.required(
    "ragen_envs.integrations.verifiers", "verifiers", "verifiers", "verifiers 0.4"
):
    import verifiers as _verifiers  # noqa: F401

from ragen_envs.integrations.verifiers.taskset import (
    TextEnvConfig,
    TextEnvData,
    TextEnvHarness,
    TextEnvTask,
    TextEnvTaskset,
    TextGameConfig,
    TextGameEnv,
)
from ragen_envs.integrations.verifiers.taskset_env import TasksetEnv

__all__ = [
    "TasksetEnv",
    "TextEnvConfig",
    "TextEnvData",
    "TextEnvHarness",
    "TextEnvTask",
    "TextEnvTaskset",
    "TextGameConfig",
    "TextGameEnv",
]

"""Text environments as a taskset and an environment of verifiers (`verifiers.v1`).

Needs the extra `verifiers`, in an environment without the extra `openai`, of which verifiers wants
an older one. Its commands find it by the name of its plugin:

    vf-eval ragen-verifiers --env.taskset.env ragen/Sokoban-v0 -n 8 --model NAME

The other way round, `TasksetEnv` is a Gymnasium environment of any taskset of verifiers.
"""

from ragen_envs import extras

try:
    import verifiers as _verifiers  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "verifiers":
        raise
    raise extras.missing("ragen_envs.verifiers", "verifiers", "verifiers") from None

from ragen_envs.verifiers.env import TextGameConfig, TextGameEnv
from ragen_envs.verifiers.harness import TextEnvHarness
from ragen_envs.verifiers.played import TasksetEnv
from ragen_envs.verifiers.task import TextEnvData, TextEnvTask
from ragen_envs.verifiers.taskset import TextEnvConfig, TextEnvTaskset

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

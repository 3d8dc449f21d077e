"""Multi-agent games of the suite as PettingZoo environments.

Needs the extra `pettingzoo`:

    from ragen_envs.integrations.pettingzoo import aec_env, parallel_env
    env = aec_env("ragen/Sokoban-v0", agents=2, split="test")
"""

from ragen_envs.core import extras

with extras.required("ragen_envs.integrations.pettingzoo", "pettingzoo", "pettingzoo"):
    import pettingzoo as _pettingzoo  # type: ignore[import-untyped]  # noqa: F401

from ragen_envs.integrations.pettingzoo.make import MODES, Mode, aec_env, parallel_env
from ragen_envs.integrations.pettingzoo.questions import QUESTION_IDS, questions_env, rule_answer

__all__ = [
    "MODES",
    "QUESTION_IDS",
    "Mode",
    "aec_env",
    "parallel_env",
    "questions_env",
    "rule_answer",
]

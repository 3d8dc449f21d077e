"""Checks for any Gymnasium text environment.

The shortest use:

    from ragen_envs.testing import check_text_env
    check_text_env("my_pkg:my/Env-v0", max_turns=5)

Actions and observations are str; one `step` is one turn.
The checks do not depend on this suite's games.
The strategies and the state machine need Hypothesis, which the extra `testing` brings.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ragen_envs.testing.checks.api import (
    check_action_space,
    check_close_twice,
    check_gymnasium_checker,
    check_hostile_text,
    check_observation_space,
    check_reset_and_step,
)
from ragen_envs.testing.checks.determinism import (
    check_deepcopy,
    check_held_out_unique,
    check_pickle,
    check_reset_forgets,
    check_rollouts_differ_in_noise,
    check_rollouts_share_first_observation,
    check_same_seed_in_other_processes,
    check_same_seed_same_episode,
    check_seeds_matter,
    check_splits_disjoint,
)
from ragen_envs.testing.checks.episode import (
    check_episode_ends,
    check_flags,
    check_rewards,
    check_step_after_end,
    check_step_before_reset,
    check_success,
)
from ragen_envs.testing.checks.isolation import (
    check_global_random_not_read,
    check_global_random_not_written,
    check_info_is_the_callers,
    check_two_in_threads,
    check_two_in_turns,
)
from ragen_envs.testing.checks.oracle import check_oracle_reaches_ceiling
from ragen_envs.testing.episodes import PlayedEpisode, PlayedStep
from ragen_envs.testing.failure import CheckFailed, CheckSkipped, Outcome
from ragen_envs.testing.hostile import HOSTILE
from ragen_envs.testing.kit import CHECKS, Check, check_text_env, run_checks, text_env_tests
from ragen_envs.testing.subject import Subject

if TYPE_CHECKING:
    # Under their own names, which tells type checkers that they may be imported from here.
    from ragen_envs.testing.strategies import TextEnvMachine as TextEnvMachine
    from ragen_envs.testing.strategies import action_sequences as action_sequences
    from ragen_envs.testing.strategies import hostile_text as hostile_text
    from ragen_envs.testing.strategies import instances as instances
    from ragen_envs.testing.strategies import seeds as seeds
    from ragen_envs.testing.strategies import text_env_machine as text_env_machine
    from ragen_envs.testing.strategies import well_formed_answers as well_formed_answers

_NEED_HYPOTHESIS = (
    "TextEnvMachine",
    "text_env_machine",
    "action_sequences",
    "hostile_text",
    "instances",
    "seeds",
    "well_formed_answers",
)
"""Not in `__all__`, so that `import *` does without Hypothesis."""

__all__ = [
    "CHECKS",
    "HOSTILE",
    "Check",
    "CheckFailed",
    "CheckSkipped",
    "Outcome",
    "PlayedEpisode",
    "PlayedStep",
    "Subject",
    "check_action_space",
    "check_close_twice",
    "check_deepcopy",
    "check_episode_ends",
    "check_flags",
    "check_global_random_not_read",
    "check_global_random_not_written",
    "check_gymnasium_checker",
    "check_held_out_unique",
    "check_hostile_text",
    "check_info_is_the_callers",
    "check_observation_space",
    "check_oracle_reaches_ceiling",
    "check_pickle",
    "check_reset_and_step",
    "check_reset_forgets",
    "check_rewards",
    "check_rollouts_differ_in_noise",
    "check_rollouts_share_first_observation",
    "check_same_seed_in_other_processes",
    "check_same_seed_same_episode",
    "check_seeds_matter",
    "check_splits_disjoint",
    "check_step_after_end",
    "check_step_before_reset",
    "check_success",
    "check_text_env",
    "check_two_in_threads",
    "check_two_in_turns",
    "run_checks",
    "text_env_tests",
]


def __getattr__(name: str) -> object:
    """Import the names that need Hypothesis at their first use, so that the checks do not."""
    if name not in _NEED_HYPOTHESIS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.strategies"), name)

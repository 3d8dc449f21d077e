"""The checks, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ragen_envs.testing.checks import (
    api,
    copies,
    determinism,
    episode,
    isolation,
    oracle,
    robustness,
    splits,
)
from ragen_envs.testing.subject import Subject


class Check(NamedTuple):
    """A row of the table.

    Attributes:
        function: the check; raises `CheckFailed` or `CheckSkipped`.
        after: names of checks whose failure is likely to be this one's too; the kit then skips it.
    """

    function: Callable[[Subject], None]
    after: tuple[str, ...] = ("reset_and_step",)


_PLAYS = ("reset_and_step",)
_SAME = (*_PLAYS, "same_seed_same_episode")

CHECKS: dict[str, Check] = {
    "reset_and_step": Check(api.check_reset_and_step, ()),
    "observation_space": Check(api.check_observation_space),
    "action_space": Check(api.check_action_space),
    "rewards": Check(episode.check_rewards),
    "flags": Check(episode.check_flags),
    "success": Check(episode.check_success),
    "episode_ends": Check(episode.check_episode_ends, (*_PLAYS, "flags")),
    "step_before_reset": Check(episode.check_step_before_reset),
    "step_after_end": Check(episode.check_step_after_end),
    "close_twice": Check(api.check_close_twice),
    "hostile_text": Check(robustness.check_hostile_text),
    "same_seed_same_episode": Check(determinism.check_same_seed_same_episode),
    "reset_forgets": Check(determinism.check_reset_forgets, _SAME),
    "same_seed_in_other_processes": Check(determinism.check_same_seed_in_other_processes, _SAME),
    "global_random_not_read": Check(isolation.check_global_random_not_read, _SAME),
    # What is drawn from a global generator changes it, and is the same in the kit's episodes.
    "global_random_not_written": Check(
        isolation.check_global_random_not_written, (*_PLAYS, "global_random_not_read")
    ),
    "seeds_matter": Check(determinism.check_seeds_matter, (*_PLAYS, "global_random_not_read")),
    "two_in_turns": Check(isolation.check_two_in_turns, _SAME),
    "two_in_threads": Check(
        isolation.check_two_in_threads,
        (*_SAME, "two_in_turns", "global_random_not_written", "global_random_not_read"),
    ),
    "info_is_the_callers": Check(isolation.check_info_is_the_callers, (*_SAME, "reset_forgets")),
    "deepcopy": Check(copies.check_deepcopy, (*_SAME, "two_in_turns")),
    "pickle": Check(copies.check_pickle, (*_SAME, "two_in_turns")),
    "splits_disjoint": Check(splits.check_splits_disjoint, (*_PLAYS, "seeds_matter")),
    "held_out_unique": Check(splits.check_held_out_unique, (*_PLAYS, "seeds_matter")),
    "rollouts_share_first_observation": Check(splits.check_rollouts_share_first_observation, _SAME),
    "rollouts_differ_in_noise": Check(
        splits.check_rollouts_differ_in_noise, (*_SAME, "global_random_not_read")
    ),
    "oracle_reaches_ceiling": Check(
        oracle.check_oracle_reaches_ceiling, (*_PLAYS, "global_random_not_read")
    ),
    "gymnasium_checker": Check(
        api.check_gymnasium_checker,
        (
            *_SAME,
            "observation_space",
            "action_space",
            "hostile_text",
            "rewards",
            "flags",
            "reset_forgets",
            "info_is_the_callers",
        ),
    ),
}
"""The name of each check, and the check."""

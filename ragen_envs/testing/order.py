"""The order of the checks: their names, and for each the checks that it builds on.

The kit skips a check where one that it builds on has failed, since that failure is likely to be
its own too.
"""

from __future__ import annotations

_PLAYS = ("reset_and_step",)
_SAME = (*_PLAYS, "same_seed_same_episode")

BUILDS_ON: dict[str, tuple[str, ...]] = {
    "reset_and_step": (),
    "observation_space": _PLAYS,
    "action_space": _PLAYS,
    "rewards": _PLAYS,
    "flags": _PLAYS,
    "success": _PLAYS,
    "episode_ends": (*_PLAYS, "flags"),
    "step_before_reset": _PLAYS,
    "step_after_end": _PLAYS,
    "close_twice": _PLAYS,
    "hostile_text": _PLAYS,
    "same_seed_same_episode": _PLAYS,
    "reset_forgets": _SAME,
    "same_seed_in_other_processes": _SAME,
    "global_random_not_read": _SAME,
    # A draw from a global generator changes it, and is the same in all of the kit's episodes.
    "global_random_not_written": (*_PLAYS, "global_random_not_read"),
    "seeds_matter": (*_PLAYS, "global_random_not_read"),
    "two_in_turns": _SAME,
    "two_in_threads": (
        *_SAME,
        "two_in_turns",
        "global_random_not_written",
        "global_random_not_read",
    ),
    "info_is_the_callers": (*_SAME, "reset_forgets"),
    "deepcopy": (*_SAME, "two_in_turns"),
    "pickle": (*_SAME, "two_in_turns"),
    "splits_disjoint": (*_PLAYS, "seeds_matter"),
    "held_out_unique": (*_PLAYS, "seeds_matter"),
    "rollouts_share_first_observation": _SAME,
    "rollouts_differ_in_noise": (*_SAME, "global_random_not_read"),
    "oracle_reaches_ceiling": (*_PLAYS, "global_random_not_read"),
    "gymnasium_checker": (
        *_SAME,
        "observation_space",
        "action_space",
        "hostile_text",
        "rewards",
        "flags",
        "reset_forgets",
        "info_is_the_callers",
    ),
}
"""The names of the checks in the order in which they run, with what each builds on."""

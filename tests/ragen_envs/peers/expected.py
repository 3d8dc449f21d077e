"""What the kit says of each peer: what fails and why, and what cannot be run."""

from __future__ import annotations

_NO_SPLITS = {"splits_disjoint"}
_NO_ROLLOUTS = {"rollouts_share_first_observation", "rollouts_differ_in_noise"}
_UNTOLD = {"success", "held_out_unique"} | _NO_ROLLOUTS
"""The peers report no success, count no held-out instances and know no rollouts."""
_ON_SAME_EPISODE = {
    "reset_forgets",
    "same_seed_in_other_processes",
    "global_random_not_read",
    "two_in_turns",
    "two_in_threads",
    "info_is_the_callers",
    "deepcopy",
    "pickle",
    "gymnasium_checker",
}
_ON_RESET_FORGETS = {"info_is_the_callers", "gymnasium_checker"}
_WORDS = {"hostile_text"}
_SPACES = {"observation_space", "action_space"}

_STEPS_ON = {"step_after_end": "was accepted"}
_ONE_MAP = {"seeds_matter": "all give the same instance"}


def _shared(test: int, train: int) -> dict[str, str]:
    return {"splits_disjoint": f"seed {test} of 'test' is seed {train} of 'train'"}


_TEXTARENA = {
    "step_before_reset": "raised AttributeError",
    "reset_forgets": "first on a new object, then after other episodes on one",
    "global_random_not_written": ") changed the state of random",
    "pickle": "RecursionError",
    **_STEPS_ON,
}

FAILS: dict[str, dict[str, str]] = {
    "Gymnasium FrozenLake-v1": {**_ONE_MAP, **_STEPS_ON},
    "Gymnasium FrozenLake-v1, random map": {
        "same_seed_same_episode": "turn 0: observation",
        **_ONE_MAP,
        **_STEPS_ON,
    },
    "Gymnasium Taxi-v4": {**_STEPS_ON, **_shared(29, 29)},
    "Gymnasium CliffWalking-v1": {**_ONE_MAP, **_STEPS_ON},
    "Gymnasium Blackjack-v1": {**_STEPS_ON},
    "TextArena Sokoban-v0": {
        **_TEXTARENA,
        **_shared(7, 13),
        "episode_ends": "no end after 30 turns",
    },
    "TextArena FrozenLake-v0": {
        **_TEXTARENA,
        **_shared(9, 19),
        "episode_ends": "no end after 100 turns",
    },
    "gem game:Sokoban-v0-easy": {
        "step_before_reset": "was accepted",
        "global_random_not_written": "make_env() changed the state of random",
        "oracle_reaches_ceiling": "seed 8: the oracle scored 0.5 where the ceiling is 1",
        **_STEPS_ON,
        **_shared(8, 28),
    },
}
"""Peer -> each check that fails, with a part of its message."""

SKIPPED: dict[str, set[str]] = {
    "Gymnasium FrozenLake-v1": _UNTOLD | _WORDS | _NO_SPLITS,
    "Gymnasium FrozenLake-v1, random map": (
        _UNTOLD | _WORDS | _NO_SPLITS | _ON_SAME_EPISODE | {"oracle_reaches_ceiling"}
    ),
    "Gymnasium Taxi-v4": _UNTOLD | _WORDS,
    "Gymnasium CliffWalking-v1": _UNTOLD | _WORDS | _NO_SPLITS | {"episode_ends"},
    "Gymnasium Blackjack-v1": (
        _UNTOLD | _WORDS | _NO_SPLITS | {"episode_ends", "oracle_reaches_ceiling"}
    ),
    "TextArena Sokoban-v0": _UNTOLD | _SPACES | _ON_RESET_FORGETS | {"two_in_threads"},
    "TextArena FrozenLake-v0": _UNTOLD | _SPACES | _ON_RESET_FORGETS | {"two_in_threads"},
    "gem game:Sokoban-v0-easy": _UNTOLD | _SPACES | {"two_in_threads"},
}
"""Peer -> the checks that lack what they need, or build on one that failed."""

BRIDGE_SKIPPED = _NO_ROLLOUTS | _NO_SPLITS | {"held_out_unique", "oracle_reaches_ceiling"}

"""The options of a `Subject`: the values that each takes, and the checks that can be skipped."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import gymnasium

from ragen_envs.testing.failure import shorten


class Option(NamedTuple):
    """The valid values of an option: a description, their type, and which of that are valid."""

    takes: str
    is_of_kind: Callable[[Any], bool]
    is_sound: Callable[[Any], bool] = lambda _: True


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_factory(value: object) -> bool:
    return isinstance(value, str) or (callable(value) and not isinstance(value, gymnasium.Env))


def _is_key_or_function(value: object) -> bool:
    return isinstance(value, str) or callable(value)


def _is_function_or_none(value: object) -> bool:
    return value is None or callable(value)


def _is_str(value: object) -> bool:
    return isinstance(value, str)


def _all_in(kind: Any, is_one: Callable[[object], bool]) -> Callable[[Any], bool]:
    """Return whether a value is a collection of that kind, and no str, and all in it are right."""
    return lambda value: (
        isinstance(value, kind)
        and not isinstance(value, str)
        and all(is_one(each) for each in value)
    )


def _all_under_names(is_one: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: (
        isinstance(value, Mapping)
        and all(_is_str(name) and is_one(each) for name, each in value.items())
    )


_AT_LEAST_1 = Option("an int of at least 1", _is_int, lambda value: value >= 1)

OPTIONS = {
    "make_env": Option(
        "an id such as 'my_pkg:my/Env-v0', or a callable that makes the environment, as "
        "lambda: MyEnv()",
        _is_factory,
    ),
    "answers": Option(
        "a key of info, a sequence of one or more str, or a function of env and a random.Random",
        lambda value: _is_key_or_function(value) or _all_in(Sequence, _is_str)(value),
        lambda value: callable(value) or len(value) > 0,
    ),
    "splits": Option(
        "a mapping from names to ids or callables, as {'test': make_test}",
        _all_under_names(_is_factory),
    ),
    "canonical": Option("a key of info, or a function of env", _is_key_or_function),
    "held_out": Option(
        "a mapping from names of splits to numbers of instances, as {'test': 256}",
        _all_under_names(_is_int),
        lambda value: all(number >= 1 for number in value.values()),
    ),
    "split_seeds": _AT_LEAST_1,
    "noise_options": Option(
        "a function from an int to the options of reset, as lambda j: {'noise_seed': j}",
        _is_function_or_none,
    ),
    "stochastic": Option("True or False", lambda value: isinstance(value, bool)),
    "oracle": Option("a function from env to an answer", _is_function_or_none),
    "ceiling": Option(
        "a number, a key of info, or a function of env",
        lambda value: _is_number(value) or _is_key_or_function(value),
    ),
    "score": Option("a key of info, or a function of the PlayedEpisode", _is_key_or_function),
    "score_range": Option(
        "two numbers, the least and the greatest score, both finite",
        lambda value: _all_in(Sequence, _is_number)(value) and len(value) == 2,
        lambda value: -math.inf < value[0] < value[1] < math.inf,
    ),
    "oracle_episodes": _AT_LEAST_1,
    "success": Option("a key of info", _is_str),
    "seeds": Option(
        "a sequence of one or more ints of at least 0, as range(16)",
        _all_in(Sequence, _is_int),
        lambda value: len(value) > 0 and min(value) >= 0,
    ),
    "max_turns": Option(
        "an int of at least 1, or None",
        lambda value: value is None or _is_int(value),
        lambda value: value is None or value >= 1,
    ),
    "skip": Option(
        "a collection of names of checks, as ['seeds_matter']", _all_in(Collection, _is_str)
    ),
}
"""Each option by its name."""


def require(name: str, value: object) -> None:
    """Check an option: TypeError for another type, ValueError if it is not possible."""
    option = OPTIONS[name]
    refused = f"{name} takes {option.takes}, got {shorten(repr(value), 200)}"
    if not option.is_of_kind(value):
        raise TypeError(refused)
    if not option.is_sound(value):
        raise ValueError(refused)


_PLAYS = ("reset_and_step",)
_SAME = (*_PLAYS, "same_seed_same_episode")
_ISOLATED = (*_SAME, "two_in_turns")

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
    "two_in_threads": (*_ISOLATED, "global_random_not_written", "global_random_not_read"),
    "info_is_the_callers": (*_SAME, "reset_forgets"),
    "deepcopy": _ISOLATED,
    "pickle": _ISOLATED,
    "splits_disjoint": (*_PLAYS, "seeds_matter"),
    "held_out_unique": (*_PLAYS, "seeds_matter"),
    "rollouts_share_first_observation": _SAME,
    "rollouts_differ_in_noise": (*_SAME, "global_random_not_read"),
    "oracle_reaches_ceiling": (*_PLAYS, "global_random_not_read"),
    "gymnasium_checker": (
        *(*_SAME, "observation_space", "action_space", "hostile_text"),
        *("rewards", "flags", "reset_forgets", "info_is_the_callers"),
    ),
}
"""Names of the checks in the order in which they run, with the checks that each builds on."""

"""Reward functions: rewards of your own in the place of a game's.

A reward function is passed to `gymnasium.make` as `reward_fn`. It decides the reward that `step`
returns and nothing else: observations, `info` and scores are the game's own.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple, Protocol

POINTS = 100
"""Points in a reward of 1. Games count in whole points, since floats would not add up exactly."""


class Transition(NamedTuple):
    """One turn, as a reward function sees it.

    Attributes:
        answer: the whole answer of the player.
        actions: the names of the actions that ran, in order; empty if the form was broken.
        reward: the game's own reward.
        terminated: whether the rules ended the episode in this turn.
        truncated: whether the budget ended it.
        success: whether the game is won by now.
        info: what `step` returns as `info`; a dictionary of its own, so changes have no effect.
    """

    answer: str
    actions: tuple[str, ...]
    reward: float
    terminated: bool
    truncated: bool
    success: bool
    info: dict[str, Any]


class RewardFn(Protocol):
    """From a turn to its reward.

    An environment is copied and pickled with its reward function, so pass a function of a module,
    or an object of a class whose `__call__` it is, where environments are sent to other processes.
    """

    def __call__(self, transition: Transition, /) -> float:
        """Return the reward of the turn: a finite number."""
        ...


def own_reward(reward_fn: RewardFn, transition: Transition) -> float:
    """Return what a reward function gives for a turn.

    Raises:
        TypeError: if that is not a number.
        ValueError: if it is NaN or infinite.
    """
    reward: object = reward_fn(transition)
    if not isinstance(reward, Real):
        raise TypeError(
            f"reward_fn returned {reward!r}, a {type(reward).__name__}: a reward is a finite number"
        )
    if not math.isfinite(reward):
        raise ValueError(f"reward_fn returned {reward!r}: a reward is a finite number")
    return float(reward)

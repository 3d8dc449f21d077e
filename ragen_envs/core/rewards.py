"""Reward functions that replace a game's own rewards.

A reward function is passed to `gymnasium.make` as `reward_fn`. It decides the reward that `step`
returns and nothing else: observations, `info` and scores are the game's own.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ragen_envs.core.text_game import Info

POINTS = 100
"""Points in a reward of 1. Games use whole points, since sums of floats are not exact."""


class Transition(NamedTuple):
    """One turn, as a reward function sees it.

    Attributes:
        answer: Whole response of the player.
        actions: Names of the actions that ran, in order; empty if the format was broken.
        reward: Game's own reward.
        terminated: The rules ended the episode in this turn.
        truncated: The budget ended the episode in this turn.
        success: The game is won.
        info: Copy of the `info` that `step` returns.
    """

    answer: str
    actions: tuple[str, ...]
    reward: float
    terminated: bool
    truncated: bool
    success: bool
    info: Info


class RewardFn(Protocol):
    """Maps a turn to its reward.

    An environment is copied and pickled with its reward function. If it is sent to other processes,
    pass a function of a module or an instance of a class with `__call__`.
    """

    def __call__(self, transition: Transition, /) -> float:
        """Return the reward of the turn: a finite number."""
        ...


def own_reward(reward_fn: RewardFn, transition: Transition) -> float:
    """Call a reward function; TypeError unless it returns a number, ValueError if not finite."""
    reward: object = reward_fn(transition)
    if not isinstance(reward, Real):
        raise TypeError(
            f"reward_fn returned {reward!r}, a {type(reward).__name__}: a reward is a finite number"
        )
    if not math.isfinite(reward):
        raise ValueError(f"reward_fn returned {reward!r}: a reward is a finite number")
    return float(reward)

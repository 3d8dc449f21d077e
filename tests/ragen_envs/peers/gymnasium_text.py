"""Gymnasium's own environments behind a thin adapter for words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from tests.ragen_envs.peers.spaces import AnyText, Words

Render = Callable[[gymnasium.Env, Any], str]


def ansi(env: gymnasium.Env, observation: Any) -> str:
    """Read the state as the environment prints it."""
    return str(env.render())


def shown(env: gymnasium.Env, observation: Any) -> str:
    """Read the state as Python writes the observation."""
    return str(observation)


class GymnasiumText(gymnasium.Wrapper):
    """One of Gymnasium's environments with numbered actions: a word names an action.

    A word that names none raises here, since Gymnasium says nothing of words.
    """

    def __init__(self, id_: str, words: tuple[str, ...], read: Render = ansi, **options: Any):
        super().__init__(gymnasium.make(id_, disable_env_checker=True, **options))
        self.observation_space = AnyText()
        self.action_space = Words(words)
        self.read = read

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        observation, info = self.env.reset(seed=seed, options=options)
        return self.read(self.env, observation), info

    def step(self, action: str):
        number = self.action_space.words.index(action)
        observation, reward, terminated, truncated, info = self.env.step(number)
        return self.read(self.env, observation), reward, terminated, truncated, info

"""TextArena's games for one player behind a thin adapter."""

from __future__ import annotations

from typing import Any

import gymnasium
import textarena

from tests.ragen_envs.peers.spaces import AnyText


class TextArenaText(gymnasium.Env):
    """A single-player game as `textarena.make` gives it, with its default wrappers.

    TextArena rewards at the end: its `close` returns rewards and figures. It releases nothing,
    so Gymnasium's `close` is left alone.
    """

    def __init__(self, id_: str) -> None:
        self.game = textarena.make(id_)
        self.observation_space = AnyText()
        self.action_space = AnyText()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.game.reset(num_players=1, seed=seed)
        return self.game.get_observation()[1], {}

    def step(self, action: str):
        done, info = self.game.step(action)
        reward = 0.0
        if done:
            rewards, figures = self.game.close()
            reward, info = rewards[0], {**info, **figures[0]}
        return self.game.get_observation()[1], reward, done, False, info

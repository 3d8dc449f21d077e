"""gem's games behind a thin adapter."""

from __future__ import annotations

from typing import Any

import gem
import gymnasium

from tests.ragen_envs.peers.spaces import AnyText


class GemText(gymnasium.Env):
    """A game as `gem.make` gives it; its `info["suffix"]` belongs to what the player reads."""

    def __init__(self, id_: str) -> None:
        self.game = gem.make(id_)
        self.observation_space = AnyText()
        self.action_space = AnyText()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        observation, info = self.game.reset(seed=seed)
        return f"{observation}\n{info['suffix']}", info

    def step(self, action: str):
        observation, reward, terminated, truncated, info = self.game.step(action)
        return f"{observation}\n{info['suffix']}", reward, terminated, truncated, info

"""gem's games behind a thin adapter."""

from __future__ import annotations

from typing import Any

import gem
import gymnasium

from tests.ragen_envs.peers.spaces import AnyText


class GemText(gymnasium.Env):
    """A game as `gem.make` gives it; the player reads its `info["suffix"]` too, if it has one."""

    def __init__(self, id_: str) -> None:
        self.game = gem.make(id_)
        self.observation_space = AnyText()
        self.action_space = AnyText()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        observation, info = self.game.reset(seed=seed)
        return _whole(observation, info), info

    def step(self, action: str):
        observation, reward, terminated, truncated, info = self.game.step(action)
        return _whole(observation, info), reward, terminated, truncated, info


def _whole(observation: str, info: dict[str, Any]) -> str:
    return f"{observation}\n{info.get('suffix', '')}"

"""reasoning-gym's data sets behind a thin adapter: a question, one answer, its score."""

from __future__ import annotations

from typing import Any

import gymnasium
import reasoning_gym
from gymnasium.error import ResetNeeded

from tests.ragen_envs.peers.spaces import AnyText


class ReasoningGymText(gymnasium.Env):
    """The first item of a data set made from the seed, which the set itself scores.

    reasoning-gym knows no episodes, so their beginning and end are the adapter's.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self.entry: dict[str, Any] | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.items = reasoning_gym.create_dataset(self.name, seed=seed, size=1)
        self.entry = self.items[0]
        return self.entry["question"], {}

    def step(self, action: str):
        if self.entry is None:
            raise ResetNeeded("call reset() first")
        entry, self.entry = self.entry, None
        return "", self.items.score_answer(action, entry), True, False, {}

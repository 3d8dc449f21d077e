"""Games on a board as a text and a picture, for models that see.

`gymnasium.make(ID, observation="image")` gives an `ImageEnv`. It plays the text game itself, whose
texts leave the board out, so that the board is to be read from the picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict
from numpy.typing import NDArray

from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.view import View

Observation = dict[str, str | NDArray[np.uint8]]


class ImageEnv(View[Any, str]):
    """A text game whose board is shown in a picture; its answers are texts.

    An observation is a dictionary with

    - "text": what the text game says, with a line in place of the board;
    - "image": uint8 of shape (height, width, 3), the board in red, green and blue.

    Args:
        text_env: the game, made with `pictured=True`; stepped through this environment only.

    Raises:
        ValueError: if it was made otherwise.
    """

    def __init__(self, text_env: TextEnv[Any, Any]) -> None:
        super().__init__(text_env)
        board = text_env.board
        if board is None or not text_env.pictured:
            raise ValueError("a game with pictures is made with pictured=True")
        shape = *board.pixels, 3
        self.observation_space = Dict(
            {"text": text_env.observation_space, "image": Box(0, 255, shape, np.uint8)}
        )
        self.action_space = text_env.action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode, as `TextEnv.reset` does with the same arguments."""
        text, info = self.text_env.reset(seed=seed, options=options)
        return self._observed(text), info

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one answer, as `TextEnv.step` does."""
        text, reward, terminated, truncated, info = self.text_env.step(action)
        return self._observed(text), reward, terminated, truncated, info

    def _observed(self, text: str) -> Observation:
        return {"text": text, "image": self.text_env.picture()}

"""Another view of a text game: the same episodes, seeds and `info`, observed in another way."""

from __future__ import annotations

from typing import Any, TypeVar

import gymnasium
import numpy as np

from ragen_envs.core.text_env import TextEnv

O = TypeVar("O")  # noqa: E741
A = TypeVar("A")


class View(gymnasium.Env[O, A]):
    """An environment that plays a text game itself and observes it in a way of its own.

    Args:
        text_env: the game, which is stepped through this environment only.
    """

    def __init__(self, text_env: TextEnv[Any, Any]) -> None:
        self.text_env = text_env
        self.metadata = text_env.metadata
        self.render_mode = text_env.render_mode

    def render(self) -> Any:
        """Return what `TextEnv.render` does: a picture, a text, or None."""
        return self.text_env.render()

    @property
    def _np_random(self) -> np.random.Generator:
        """The game's generator, from which seeds are drawn where none is given."""
        return self.text_env.np_random

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator) -> None:
        self.text_env.np_random = generator

    @property
    def np_random_seed(self) -> int:
        """The seed of that generator."""
        return self.text_env.np_random_seed

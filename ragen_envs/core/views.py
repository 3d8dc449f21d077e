"""Views of a game on a board: as arrays, or as a text with a picture.

`gymnasium.make(ID, observation="array")` gives an `ArrayEnv`, for agents that are not language
models; `observation="image"` an `ImageEnv`, for models that see. Both play the text game itself, so
instances, noise, rewards, budget and `info` are exactly those of the text game.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, MultiDiscrete, Space
from numpy.typing import NDArray

from ragen_envs.core.boards import MOST_COUNTED, planes
from ragen_envs.core.protocol import format_answer, written_form
from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.core.text_game import Info, ResetOptions

O = TypeVar("O")  # noqa: E741
A = TypeVar("A")

Action = NDArray[np.int64]
ArrayObservation = dict[str, NDArray[Any]]
ImageObservation = dict[str, str | NDArray[np.uint8]]


class View(gymnasium.Env[O, A]):
    """An environment that plays a text game and returns other observations.

    Step the text game through this environment only.
    """

    def __init__(self, text_env: AnyTextEnv) -> None:
        self.text_env = text_env
        self.metadata = text_env.metadata
        self.render_mode = text_env.render_mode

    def render(self) -> Any:
        """Render the text game: a picture, a text, or None."""
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


class ArrayEnv(View[Any, Action]):
    """A text game whose observations and actions are arrays.

    An observation is a dictionary with

    - "board": uint8 of shape (tiles, height, width), 1 where a square shows the tile, else 0;
    - "left": the numbers of remaining turns and remaining actions;
    - "counts": the numbers of the board's `counts`, in order; only in games that have them, such as
      Minesweeper.

    If boards have several sizes, all arrays have the shape of the largest one. Squares outside a
    smaller board show a separate tile, and their actions are unknown to the game.

    An action is a turn: one number for each action that a turn may have. 0 stands for no action,
    and n for the n-th of `actions`. Zeros are skipped; a turn of zeros only names no action and is
    penalised.

    Args:
        text_env: Text game. Step it through this environment only.

    Raises:
        ValueError: The game has no board, or its response format is "tools".
    """

    def __init__(self, text_env: AnyTextEnv) -> None:
        board = text_env.board
        if board is None:
            raise ValueError(f"{text_env.variant.name} has no board, so it cannot be arrays")
        if text_env.response_format == "tools":
            raise ValueError(
                "response_format applies to text observations only; remove it, or set "
                'observation="text"'
            )
        super().__init__(text_env)
        self.board = board
        self.actions = board.actions
        budget = text_env.budget
        self._slots = min(budget.max_actions_per_turn, budget.max_actions)
        self._form = written_form(text_env.response_format)
        most = np.array([budget.max_turns, budget.max_actions])
        self._dtype = np.min_scalar_type(int(most.max()))
        shape = len(board.tiles), board.height, board.width
        spaces: dict[str, Space[Any]] = {
            "board": Box(0, 1, shape, np.uint8),
            "left": Box(np.zeros(2, self._dtype), most.astype(self._dtype), dtype=self._dtype),
        }
        if board.counts:
            spaces["counts"] = Box(0, MOST_COUNTED, (len(board.counts),), np.uint8)
        self.observation_space = Dict(spaces)
        self.action_space = MultiDiscrete([len(board.actions) + 1] * self._slots)

    def reset(
        self, *, seed: int | None = None, options: ResetOptions | None = None
    ) -> tuple[ArrayObservation, Info]:
        """Start an episode, as `TextEnv.reset` does with the same arguments."""
        _, info = self.text_env.reset(seed=seed, options=options)
        return self._observe(), info

    def step(
        self, action: Action | Sequence[int]
    ) -> tuple[ArrayObservation, float, bool, bool, Info]:
        """Take one turn, like `TextEnv.step` with the response that names its actions.

        Raises:
            ResetNeeded: No episode is running.
            ValueError: The number of entries is wrong, or an entry is out of range.
        """
        answer = format_answer(self.names_of(action), self._form)
        _, reward, terminated, truncated, info = self.text_env.step(answer)
        return self._observe(), reward, terminated, truncated, info

    def names_of(self, action: Action | Sequence[int]) -> tuple[str, ...]:
        """Return the names of a turn's actions, in order.

        Raises:
            ValueError: The number of entries is wrong, or an entry is out of range.
        """
        numbers = action.tolist() if isinstance(action, np.ndarray) else action
        known = len(self.actions)
        if not (
            isinstance(numbers, Sequence)
            and len(numbers) == self._slots
            and all(isinstance(n, (int, np.integer)) and 0 <= n <= known for n in numbers)
        ):
            raise ValueError(
                f"an action is {self._slots} numbers from 0 to {known}, 0 for none, got {action!r}"
            )
        return tuple([self.actions[number - 1] for number in numbers if number])

    def action_of(self, names: Sequence[str]) -> Action:
        """Return the turn for names of actions, such as those of `best_actions`.

        Raises:
            ValueError: A name is unknown, or there are more names than a turn may have actions.
        """
        if len(names) > self._slots:
            raise ValueError(f"a turn has at most {self._slots} actions, got {len(names)}")
        action = np.zeros(self._slots, dtype=np.int64)
        for place, name in enumerate(names):
            if name not in self.actions:
                raise ValueError(f"{name!r} is not an action; choose from {list(self.actions)}")
            action[place] = self.actions.index(name) + 1
        return action

    def best_action(self) -> Action:
        """Return the turn that the oracle would take.

        Raises:
            ResetNeeded: No episode is running.
        """
        return self.action_of(self.text_env.best_actions())

    def _observe(self) -> ArrayObservation:
        game = self.text_env
        left = np.array([game.turns_left, game.actions_left], dtype=self._dtype)
        observed = {"board": planes(self.board, game.tile_numbers()), "left": left}
        if self.board.counts:
            observed["counts"] = np.array(game.board_counts(), dtype=np.uint8)
        return observed


class ImageEnv(View[Any, str]):
    """A text game whose board is shown in a picture; its answers are texts.

    An observation is a dictionary with

    - "text": the text of the game, with a line in place of the board;
    - "image": uint8 of shape (height, width, 3), the board in red, green and blue.

    Args:
        text_env: Text game, made with `pictured=True`. Step it through this environment only.

    Raises:
        ValueError: The game was not made with `pictured=True`.
    """

    def __init__(self, text_env: AnyTextEnv) -> None:
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
        self, *, seed: int | None = None, options: ResetOptions | None = None
    ) -> tuple[ImageObservation, Info]:
        """Start an episode, as `TextEnv.reset` does with the same arguments."""
        text, info = self.text_env.reset(seed=seed, options=options)
        return {"text": text, "image": self.text_env.picture()}, info

    def step(self, action: str) -> tuple[ImageObservation, float, bool, bool, Info]:
        """Take one answer, as `TextEnv.step` does."""
        text, reward, terminated, truncated, info = self.text_env.step(action)
        observation: ImageObservation = {"text": text, "image": self.text_env.picture()}
        return observation, reward, terminated, truncated, info

"""What Gymnasium's registry calls to make an environment: as texts, as arrays, or with pictures.

Every id has a maker of its own under its name: `ragen_envs.making:Sokoban-v0`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium

from ragen_envs.core.arguments import one_of
from ragen_envs.registration import IDS, NAMESPACE, OPPONENT_TABLE, TABLE, env_class, made_class

OBSERVATIONS = ("text", "array", "image")


class Maker:
    """Makes the environments of one id.

    Args:
        name: the id without its namespace.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._class = made_class(name)

    @property
    def metadata(self) -> dict[str, Any]:
        """Gymnasium's metadata of what is made."""
        metadata: dict[str, Any] = self._class.metadata
        return metadata

    @property
    def __signature__(self) -> inspect.Signature:
        """The arguments of what is made, which bridges and harness ask for."""
        return inspect.signature(self._class)

    def __call__(self, *, observation: str = "text", **arguments: Any) -> gymnasium.Env[Any, Any]:
        """Return a new environment.

        Args:
            observation: "text", "array" for an `ArrayEnv`, or "image" for an `ImageEnv`.
            arguments: those of the game's class.

        Raises:
            ValueError: for another value, or arrays or pictures of a game that has no board.
        """
        env: gymnasium.Env[Any, Any]
        if one_of("observation", observation, OBSERVATIONS) == "text":
            env = self._class(**arguments)
            return env
        self.need_board(observation)
        if observation == "image":
            from ragen_envs.core.views import ImageEnv

            return ImageEnv(self._class(**{**arguments, "pictured": True}))
        from ragen_envs.core.views import ArrayEnv  # texts do not need it

        return ArrayEnv(self._class(**arguments))

    def need_board(self, observation: str) -> None:
        """Refuse arrays or pictures of a game that has no board.

        Raises:
            ValueError: with the ids of those that have one.
        """
        if not _has_board(self._class):
            raise ValueError(
                f"{NAMESPACE}/{self._name} has no board, so there is no "
                f"observation={observation!r} of it; these have one: {', '.join(board_ids())}"
            )


def board_ids() -> tuple[str, ...]:
    """Return the ids that can be made with observation="array" or "image"."""
    return tuple(id_ for id_ in IDS if _has_board(env_class(id_.partition("/")[2])))


def _has_board(game: Any) -> bool:
    has: bool = game.has_board()
    return has


def __getattr__(name: str) -> Callable[..., gymnasium.Env[Any, Any]]:
    """Return the maker of an id."""
    if name in TABLE or name in OPPONENT_TABLE:
        return Maker(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

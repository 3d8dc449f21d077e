"""Makers of environments, which Gymnasium's registry calls: text, array or image observations.

Every id has a maker under its own name: `ragen_envs.making:ragen/Sokoban-v0`.
"""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium

from ragen_envs.core.arguments import one_of
from ragen_envs.registration import IDS, is_registered, load_class, register_third_party_games

OBSERVATIONS = ("text", "array", "image")


class Maker:
    """Makes the environments of one registered id."""

    def __init__(self, env_id: str) -> None:
        self._id = env_id
        self._class = load_class(env_id)

    @property
    def metadata(self) -> Any:
        """Gymnasium's metadata of the environment's class."""
        return self._class.metadata

    @property
    def __signature__(self) -> inspect.Signature:
        """The arguments of the environment's class, which bridges and the harness inspect."""
        return inspect.signature(self._class)

    def __call__(
        self, *, observation: str = "text", **arguments: object
    ) -> gymnasium.Env[Any, Any]:
        """Return a new environment; ValueError for an array or image of a game without a board."""
        env: gymnasium.Env[Any, Any]
        if one_of("observation", observation, OBSERVATIONS) == "text":
            env = self._class(**arguments)
            return env
        if not self._class.has_board():
            raise ValueError(
                f"{self._id} has no board, so it has no observation={observation!r}; "
                f"choose one of {', '.join(board_ids())}"
            )
        from ragen_envs.core.views import ArrayEnv, ImageEnv

        if observation == "image":
            return ImageEnv(self._class(**{**arguments, "pictured": True}))
        return ArrayEnv(self._class(**arguments))


def board_ids() -> tuple[str, ...]:
    """Return the ids that can be made with observation="array" or "image"."""
    third_party = (id_ for game in register_third_party_games() for id_ in game.ids)
    return tuple(id_ for id_ in (*IDS, *third_party) if load_class(id_).has_board())


def __getattr__(name: str) -> Maker:
    """Return the maker of an id."""
    if is_registered(name):
        return Maker(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The table of ids. To add a game, write its folder and its lines here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import gymnasium

NAMESPACE = "ragen"

_BANDIT = "ragen_envs.bandit.env:BanditEnv"
_MULTI_PULL = "ragen_envs.bandit.multi_pull:MultiPullEnv"
_SOKOBAN = "ragen_envs.sokoban.env:SokobanEnv"
_FROZEN_LAKE = "ragen_envs.frozen_lake.env:FrozenLakeEnv"

TABLE = {
    "Bandit-v0": _BANDIT,
    "BanditRev-v0": _BANDIT,
    "BanditMultiPull-v0": _MULTI_PULL,
    "Sokoban-v0": _SOKOBAN,
    "SokobanLarge-v0": _SOKOBAN,
    "SokobanNewVocab-v0": _SOKOBAN,
    "SokobanCoord-v0": _SOKOBAN,
    "FrozenLake-v0": _FROZEN_LAKE,
    "FrozenLakeMild-v0": _FROZEN_LAKE,
    "FrozenLakeLarge-v0": _FROZEN_LAKE,
    "FrozenLakeNewVocab-v0": _FROZEN_LAKE,
    "FrozenLakeCoord-v0": _FROZEN_LAKE,
}
"""The variant's name, which is the id without its namespace, and the class that plays it."""

IDS = tuple(f"{NAMESPACE}/{name}" for name in TABLE)


def register_all() -> None:
    """Enter every id into Gymnasium's registry."""
    for name, entry_point in TABLE.items():
        gymnasium.register(
            f"{NAMESPACE}/{name}",
            entry_point,
            kwargs={"variant": name},
            # The environments check order and types themselves; wrappers would halve their speed.
            order_enforce=False,
            disable_env_checker=True,
        )


def env_class(name: str) -> Any:
    """Return the class that plays a variant of the table.

    Raises:
        KeyError: if the table has no such name.
    """
    module, _, attribute = TABLE[name].partition(":")
    return getattr(import_module(module), attribute)

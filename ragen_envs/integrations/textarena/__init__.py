"""A bridge to TextArena, in both directions.

Needs the extra `textarena`. Importing it

- registers this suite's ids and those of installed games in TextArena:
  `textarena.make("ragen/Sokoban-v0")`;
- registers TextArena's single-player ids in Gymnasium:
  `gymnasium.make("ragen_textarena/Mastermind-v0")`.

Multi-player games are PettingZoo environments: `pettingzoo_env("TicTacToe-v0", 2)`.
"""

from ragen_envs.core import extras

with extras.required(
    "ragen_envs.integrations.textarena", "textarena", "textarena", "textarena 0.7"
):
    import textarena as _textarena  # type: ignore[import-untyped]  # noqa: F401
    from textarena.envs.registration import (  # type: ignore[import-untyped]
        ENV_REGISTRY,
        register_with_versions,
    )

from typing import TYPE_CHECKING

import gymnasium

from ragen_envs.integrations.textarena.env import TextArenaEnv
from ragen_envs.integrations.textarena.gamemaster import rule_gamemaster, source_of
from ragen_envs.integrations.textarena.suite import BoardView, Transcript
from ragen_envs.registration import all_ids

if TYPE_CHECKING:
    from ragen_envs.integrations.textarena.aec import TextArenaAEC

__all__ = ["SINGLE_PLAYER", "TextArenaEnv", "pettingzoo_env", "rule_gamemaster"]

_NAMESPACE = "ragen_textarena"


# The registry does not hold the number of players.
SINGLE_PLAYER = tuple(
    env_id
    for env_id, spec in ENV_REGISTRY.items()
    if "SinglePlayerState(" in source_of(str(spec.entry_point))
    and not any(
        env_id.endswith(variant) and env_id.removesuffix(variant) in ENV_REGISTRY
        for variant in ("-raw", "-train")
    )
)
"""TextArena's ids of single-player games, without variants that differ by a wrapper only."""

for _env_id in SINGLE_PLAYER:
    gymnasium.register(
        f"{_NAMESPACE}/{_env_id}",
        "ragen_envs.integrations.textarena.env:TextArenaEnv",
        kwargs={"env_id": _env_id},
        order_enforce=False,
        disable_env_checker=True,
    )
for _id in all_ids():
    register_with_versions(
        _id,
        "ragen_envs.integrations.textarena.suite:SuiteGame",
        wrappers={"default": [Transcript], "-train": [BoardView]},
        game=_id,
    )


def pettingzoo_env(env_id: str, num_players: int = 2, **options: object) -> "TextArenaAEC":
    """Return a TextArena game as a PettingZoo AEC environment.

    Args:
        env_id: Id in TextArena's registry, such as "TicTacToe-v0".
        num_players: Number of players; each game has its own limits.
        options: Arguments of the game's constructor, such as `num_rounds`.

    Raises:
        ImportError: PettingZoo is not installed.
        ValueError: TextArena does not know the id.
        gymnasium.error.Error: TextArena cannot make the game on this machine.
    """
    with extras.required("pettingzoo_env", "pettingzoo", "textarena"):
        from ragen_envs.integrations.textarena.aec import TextArenaAEC
    return TextArenaAEC(env_id, num_players, **options)

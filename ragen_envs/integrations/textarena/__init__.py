"""A bridge to TextArena, in both directions.

Needs the extra `textarena`. Importing it

- registers this suite's ids in TextArena: `textarena.make("ragen/Sokoban-v0")`;
- registers TextArena's single-player ids in Gymnasium:
  `gymnasium.make("ragen_textarena/Mastermind-v0")`.

Multi-player games are PettingZoo environments: `pettingzoo_env("TicTacToe-v0", 2)`.
"""

from ragen_envs.core import extras

try:
    import textarena as _textarena  # type: ignore[import-untyped]  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "textarena":
        raise
    raise extras.missing("ragen_envs.integrations.textarena", "textarena", "textarena") from None

from typing import TYPE_CHECKING, Any

from ragen_envs.integrations.textarena.env import TextArenaEnv
from ragen_envs.integrations.textarena.registration import SINGLE_PLAYER, register_all
from ragen_envs.integrations.textarena.rule import rule_gamemaster

if TYPE_CHECKING:
    from ragen_envs.integrations.textarena.aec import TextArenaAEC

__all__ = ["SINGLE_PLAYER", "TextArenaEnv", "pettingzoo_env", "rule_gamemaster"]

register_all()


def pettingzoo_env(env_id: str, num_players: int = 2, **options: Any) -> "TextArenaAEC":
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
    try:
        from ragen_envs.integrations.textarena.aec import TextArenaAEC
    except ModuleNotFoundError as missing:
        if missing.name != "pettingzoo":
            raise
        raise extras.missing("pettingzoo_env", "pettingzoo", "textarena") from None
    return TextArenaAEC(env_id, num_players, **options)

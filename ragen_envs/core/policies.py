"""Reference players for every game: the random player, the blind script and the oracle."""

from __future__ import annotations

from collections.abc import Sequence

from gymnasium.error import ResetNeeded

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.protocol import Player
from ragen_envs.core.tools import answer_with


def random_answer(player: Player, stream: RandomStream) -> str:
    """Return a well-formed response with as many random legal actions as this turn may run.

    Args:
        player: Environment or other player whose turn it is.
        stream: Random stream that chooses the actions.

    Raises:
        ResetNeeded: No episode is running.
    """
    return answer_with(player, random_actions(player, stream))


def random_actions(player: Player, stream: RandomStream) -> list[str]:
    """Return as many random legal actions as this turn may run; see `random_answer`."""
    legal = player.legal_actions
    if not legal:
        raise ResetNeeded("the episode is over or never began: call reset() first")
    return [legal[stream.below(len(legal))] for _ in range(player.actions_this_turn)]


def blind_answer(player: Player, script: Sequence[Sequence[str]], turn: int) -> str:
    """Return the response of a fixed script, which begins again after its last turn.

    Args:
        player: Environment or other player whose turn it is; only its response format is read.
        script: Actions of each turn.
        turn: Number of the turn, from 0 on.
    """
    return answer_with(player, script[turn % len(script)])


def oracle_answer(player: Player) -> str:
    """Return the response of a player that knows everything but the future noise.

    Args:
        player: Environment or other player whose turn it is.

    Raises:
        ResetNeeded: No episode is running.
    """
    return answer_with(player, player.best_actions())

"""Two reference players for every game: the random player and the oracle."""

from __future__ import annotations

from gymnasium.error import ResetNeeded

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.player import Player
from ragen_envs.core.tools import answer_with


def random_answer(player: Player, stream: RandomStream) -> str:
    """Return an answer in form with as many random legal actions as this turn may run.

    Args:
        player: an environment in its turn, or another who is to answer now.
        stream: decides the actions.

    Raises:
        ResetNeeded: before the first `reset` and after the end of an episode.
    """
    return answer_with(player, random_actions(player, stream))


def random_actions(player: Player, stream: RandomStream) -> list[str]:
    """Return as many random legal actions as this turn may run; see `random_answer`."""
    legal = player.legal_actions
    if not legal:
        raise ResetNeeded("the episode is over or never began: call reset() first")
    return [legal[stream.below(len(legal))] for _ in range(player.actions_this_turn)]


def oracle_answer(player: Player) -> str:
    """Return the answer of a player that knows all but the noise still to come.

    Args:
        player: an environment in its turn, or another who is to answer now.

    Raises:
        ResetNeeded: before the first `reset` and after the end of an episode.
    """
    return answer_with(player, player.best_actions())

"""The floor and the ceiling of every game: a random player and the oracle."""

from __future__ import annotations

from typing import Any

from gymnasium.error import ResetNeeded

from ragen_envs.instances import Stream
from ragen_envs.protocol import format_answer
from ragen_envs.text_env import TextEnv


def random_answer(env: TextEnv[Any, Any], stream: Stream) -> str:
    """Return an answer in form with as many random legal actions as this turn may run.

    Raises:
        ResetNeeded: before the first `reset` and after the end of an episode.
    """
    legal = env.legal_actions
    if not legal:
        raise ResetNeeded("the episode is over or never began: call reset() first")
    actions = [legal[stream.below(len(legal))] for _ in range(env.actions_this_turn)]
    return format_answer(actions, env.response_format)


def oracle_answer(env: TextEnv[Any, Any]) -> str:
    """Return the answer of a player that knows all but the noise still to come."""
    return format_answer(env.best_actions(), env.response_format)

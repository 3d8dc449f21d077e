"""Environments in which an opponent is asked, as the harness steps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ragen_envs.policies import oracle_answer
from ragen_envs.registration import NAMESPACE, OPPONENT_IDS, env_class, opponent_class
from ragen_envs.text_env import TextEnv

if TYPE_CHECKING:  # a game's own modules are for those who play it
    from ragen_envs.twenty_questions.model import OpponentEnv


def needs_opponent(env: str) -> bool:
    """Return whether an environment is played against a model.

    Args:
        env: its full id.
    """
    return env in OPPONENT_IDS


def class_of(env: str) -> Any:
    """Return the class that the harness plays.

    Args:
        env: a full id, of an environment with or without an opponent.

    Raises:
        KeyError: if there is none.
    """
    name = env.removeprefix(f"{NAMESPACE}/")
    return opponent_class(name) if needs_opponent(env) else env_class(name)


def opposed(made: TextEnv[Any, Any]) -> OpponentEnv | None:
    """Return an environment as one that asks an opponent, None if it asks none."""
    return cast("OpponentEnv", made) if hasattr(made, "opponent_reads") else None


def step_by_rule(
    made: TextEnv[Any, Any], answer: str
) -> tuple[str, float, bool, bool, dict[str, Any]]:
    """Step an environment; where an opponent is asked, with the rule's reply.

    Args:
        made: the environment.
        answer: the player's.
    """
    game = opposed(made)
    if game is None:
        return made.step(answer)
    asked = game.opponent_reads(answer) is not None
    return game.step_with(answer, oracle_answer(game.seat) if asked else None)

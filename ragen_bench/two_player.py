"""Two-player environments as the harness makes and steps them."""

from __future__ import annotations

from typing import Any, TypeAlias

from ragen_bench.foreign import ForeignEnv, game_of, named_ids
from ragen_envs.policies import oracle_answer
from ragen_envs.registration import IDS, NAMESPACE, OPPONENT_IDS, env_class, opponent_class
from ragen_envs.text_env import TextEnv
from ragen_envs.two_player import ReplyCount, TwoPlayerEnv

AnyEnv: TypeAlias = TextEnv[Any, Any] | ForeignEnv
"""An environment as the harness plays it."""


def is_own(env: str) -> bool:
    """Return whether an environment is of this suite.

    Args:
        env: its full id.
    """
    return env in (*IDS, *OPPONENT_IDS)


def is_known(env: str) -> bool:
    """Return whether an environment is of this suite, or was named by the user of this process.

    Args:
        env: its full id.
    """
    return is_own(env) or env in named_ids()


def needs_opponent(env: str) -> bool:
    """Return whether an environment is played against a model.

    Args:
        env: its full id.
    """
    return env in OPPONENT_IDS


def foreign_notes(env: str, random_player: bool = False) -> list[str]:
    """Return what another package's environment lacks, a line each; nothing of this suite's.

    Args:
        env: its full id.
        random_player: whether the user named one.
    """
    return [] if is_own(env) else game_of(env).notes(random_player)


def class_of(env: str) -> Any:
    """Return the class that the harness plays, or the `ForeignGame` that stands for one.

    Args:
        env: a full id, of an environment with or without an opponent.

    Raises:
        KeyError: if there is none, or it is another package's and was not named.
    """
    if not is_own(env):
        return game_of(env)
    name = env.removeprefix(f"{NAMESPACE}/")
    return opponent_class(name) if needs_opponent(env) else env_class(name)


def reply_counts(env: str) -> tuple[ReplyCount, ...]:
    """Return what an environment counts of its opponent's replies; nothing if it has no opponent.

    Args:
        env: its full id.
    """
    counts: tuple[ReplyCount, ...] = class_of(env).reply_counts if needs_opponent(env) else ()
    return counts


def as_two_player(env: AnyEnv) -> TwoPlayerEnv | None:
    """Return an environment as one that asks an opponent, None if it asks none."""
    return env if isinstance(env, TwoPlayerEnv) else None


def step_by_rule(env: AnyEnv, answer: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
    """Step an environment; where an opponent is asked, with the rule's reply.

    Args:
        env: the environment.
        answer: the player's.
    """
    game = as_two_player(env)
    if game is None:
        return env.step(answer)
    asked = game.opponent_reads(answer) is not None
    return game.step_with(answer, oracle_answer(game.seat) if asked else None)

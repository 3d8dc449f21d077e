"""Two-player environments as the harness makes and steps them."""

from __future__ import annotations

from typing import Any

from ragen_bench.environments import AnyEnv, find_class
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.two_player import ReplyCount, TwoPlayerEnv
from ragen_envs.registration import find_game, is_registered


def needs_opponent(env: str) -> bool:
    """Return whether an environment is played against a model.

    Args:
        env: its full id.
    """
    return is_registered(env) and env in find_game(env).opponent_ids


def reply_counts(env: str) -> tuple[ReplyCount, ...]:
    """Return what an environment counts of its opponent's replies; nothing if it has no opponent.

    Args:
        env: its full id.
    """
    counts: tuple[ReplyCount, ...] = find_class(env).reply_counts if needs_opponent(env) else ()
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

"""Environments by their ids: this suite's own, and those of other packages that were named."""

from __future__ import annotations

from typing import Any, TypeAlias

from ragen_bench.foreign import ForeignEnv, game_of, named_ids
from ragen_envs.core.text_env import TextEnv
from ragen_envs.registration import (
    IDS,
    NAMESPACE,
    OPPONENT_IDS,
    env_class,
    opponent_class,
    reference_of,
)

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


def is_text_env(env: str) -> bool:
    """Return whether an environment is a `TextEnv`, with a random player, an oracle and a ceiling.

    Args:
        env: its full id.
    """
    return is_own(env) or game_of(env).is_text_env


def why_reference(env: str) -> str:
    """Return why an environment's oracle is a reference player, which may be beaten; "" else.

    Args:
        env: its full id; of another package's environments nothing of the kind is known.
    """
    return reference_of(env.removeprefix(f"{NAMESPACE}/")) if is_own(env) else ""


def reference_note(env: str) -> str:
    """Return what scores beside such an environment's name have to say of its oracle; "" else."""
    why = why_reference(env)
    return why and (
        "the oracle is a reference player and its score no ceiling, so norm. may be above 1: "
        f"{why}."
    )


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
    return opponent_class(name) if env in OPPONENT_IDS else env_class(name)


def foreign_notes(env: str, random_player: bool = False) -> list[str]:
    """Return what another package's environment lacks, a line each; nothing of this suite's.

    Args:
        env: its full id.
        random_player: whether the user named one.
    """
    return [] if is_own(env) else game_of(env).notes(random_player)

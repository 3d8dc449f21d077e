"""Environments by their ids: registered games, and external environments that the user named."""

from __future__ import annotations

from typing import Any, TypeAlias

from ragen_bench.third_party import ThirdPartyEnv, get_game, registered_ids
from ragen_envs.core.text_env import TextEnv
from ragen_envs.registration import find_reference, is_registered, load_harness_class

AnyEnv: TypeAlias = TextEnv[Any, Any] | ThirdPartyEnv
"""An environment as the harness plays it."""


def is_known(env: str) -> bool:
    """Return whether an id is registered, or was named by the user of this process.

    Args:
        env: The full id.
    """
    return is_registered(env) or env in registered_ids()


def is_text_env(env: str) -> bool:
    """Return whether an environment is a `TextEnv`, with a random player and an oracle.

    Args:
        env: The full id.
    """
    return is_registered(env) or get_game(env).is_text_env


def reference_note(env: str) -> str:
    """Return a note on the oracle where its score is not an upper bound; "" elsewhere.

    Args:
        env: The full id.
    """
    why = find_reference(env)
    return why and (
        "the oracle is a reference player and its score is not an upper bound, so norm. may be "
        f"above 1: {why}."
    )


def find_class(env: str) -> Any:
    """Return the class that the harness plays, or the `ThirdPartyGame` that stands for one.

    Args:
        env: The full id, with or without an opponent.

    Raises:
        KeyError: If the id is neither registered nor named by the user.
    """
    return load_harness_class(env) if is_registered(env) else get_game(env)


def third_party_notes(env: str, random_player: bool = False) -> list[str]:
    """Return one line for each feature that an external environment lacks; [] for a registered one.

    Args:
        env: The full id.
        random_player: Whether the user named a random player.
    """
    return [] if is_registered(env) else get_game(env).notes(random_player)

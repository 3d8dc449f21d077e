"""Registers TextArena's ids in Gymnasium's registry, and this suite's in TextArena's."""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium
from textarena.envs.registration import (  # type: ignore[import-untyped]
    ENV_REGISTRY,
    register_with_versions,
)

from ragen_envs.integrations.textarena.gamemaster import source_of
from ragen_envs.integrations.textarena.suite import BoardView, Transcript
from ragen_envs.registration import IDS

NAMESPACE = "ragen_textarena"
_WRAPPER_VARIANTS = ("-raw", "-train")


def _single_player_ids() -> Iterator[str]:
    for env_id, spec in ENV_REGISTRY.items():
        # The registry does not hold the number of players.
        single = "SinglePlayerState(" in source_of(str(spec.entry_point))
        if single and not _is_wrapper_variant(env_id):
            yield env_id


def _is_wrapper_variant(env_id: str) -> bool:
    return any(
        env_id.endswith(variant) and env_id.removesuffix(variant) in ENV_REGISTRY
        for variant in _WRAPPER_VARIANTS
    )


SINGLE_PLAYER = tuple(_single_player_ids())
"""TextArena's ids of single-player games, without variants that differ by a wrapper only."""


def register_all() -> None:
    """Register this suite's games in TextArena, and TextArena's single-player ids in Gymnasium.

    Raises:
        ValueError: TextArena's registry has this suite's ids already.
    """
    for env_id in SINGLE_PLAYER:
        gymnasium.register(
            f"{NAMESPACE}/{env_id}",
            "ragen_envs.integrations.textarena.env:TextArenaEnv",
            kwargs={"env_id": env_id},
            order_enforce=False,
            disable_env_checker=True,
        )
    for id_ in IDS:
        register_with_versions(
            id_,
            "ragen_envs.integrations.textarena.suite:SuiteGame",
            wrappers={"default": [Transcript], "-train": [BoardView]},
            game=id_,
        )

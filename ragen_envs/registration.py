"""The registry of games: this suite's, and those of other packages that are installed.

A game of this suite is a folder of `ragen_envs/games` with a `spec.py`. A package adds a game by an
entry point of the group `ragen_envs.games` that names its `GameSpec`. All ids are registered in
Gymnasium when `ragen_envs` is imported; no game is imported before it is made.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import gymnasium

from ragen_envs import games
from ragen_envs.core.game_spec import (
    NAMESPACE,
    GameSpec,
    OpponentSpec,
    VariantSpec,
    import_attribute,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "ragen_envs.games"


def _sort_key(game: GameSpec) -> tuple[str, int, str]:
    return game.namespace, game.order, game.name


def _load_games() -> Iterator[GameSpec]:
    for module in iter_modules(games.__path__):
        yield import_module(f"{games.__name__}.{module.name}.spec").SPEC


GAMES = tuple(sorted(_load_games(), key=_sort_key))
"""This suite's games."""
IDS = tuple(id_ for game in GAMES for id_ in game.ids)
"""This suite's ids that need no opponent."""
OPPONENT_IDS = tuple(id_ for game in GAMES for id_ in game.opponent_ids)
"""This suite's ids that need an opponent. They belong to no suite."""


@cache
def third_party_games() -> tuple[GameSpec, ...]:
    """Return the games of other packages, found once a process.

    A game that cannot be used is reported by one line, a warning of this module's logger.
    """
    found: list[GameSpec] = []
    for distribution, entry_point in _find_entry_points():
        try:
            game = _load_spec(entry_point)
            _check(game, (*GAMES, *found))
        # The other package's code may raise anything.
        except Exception as error:  # noqa: BLE001
            import logging

            reason = " ".join(f"{type(error).__name__}: {error}".split())
            logging.getLogger(__name__).warning(
                f"the game {entry_point.name!r} of the package {distribution} is left out: {reason}"
            )
        else:
            found.append(game)
    return tuple(sorted(found, key=_sort_key))


def _load_spec(entry_point: EntryPoint) -> Any:
    module = sys.modules.get(entry_point.module)
    if module is None or hasattr(module, entry_point.attr):
        return entry_point.load()
    # The module is being imported, and imported this package: execute a second copy of it.
    from importlib.util import module_from_spec

    spec: Any = module.__spec__
    copy = module_from_spec(spec)
    spec.loader.exec_module(copy)
    return getattr(copy, entry_point.attr)


def _find_entry_points() -> Iterator[tuple[str, EntryPoint]]:
    """Yield the entry points of the group, each with the name of its distribution.

    `importlib.metadata.entry_points` finds the same, in twenty times the time.
    """
    names = set()
    for folder in _find_metadata_folders():
        from importlib.metadata import Distribution
        from pathlib import Path

        distribution = Distribution.at(Path(folder))
        name = distribution.metadata["Name"]
        if name not in names:  # the first one on the path is the one that is imported
            names.add(name)
            for entry_point in distribution.entry_points.select(group=ENTRY_POINT_GROUP):
                yield name, entry_point


def _find_metadata_folders() -> Iterator[str]:
    wanted = f"[{ENTRY_POINT_GROUP}]".encode()
    for folder in dict.fromkeys(sys.path):
        try:
            names = sorted(name for name in os.listdir(folder or ".") if name.endswith("-info"))
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            try:
                with open(os.path.join(path, "entry_points.txt"), "rb") as file:
                    found = wanted in file.read()
            except OSError:
                continue
            if found:
                yield path


def _check(game: GameSpec, others: tuple[GameSpec, ...]) -> None:
    """Refuse what is not a game, or collides with another game."""
    if not isinstance(game, GameSpec):
        raise TypeError(f"the entry point must name a GameSpec, got {type(game).__name__}")
    game.check()
    if game.namespace == NAMESPACE:
        raise ValueError(f"the namespace {NAMESPACE!r} is reserved; choose another one")
    for other in others:
        if same := {*game.ids, *game.opponent_ids} & {*other.ids, *other.opponent_ids}:
            raise ValueError(f"the id {min(same)!r} is registered already")
        shared = game.suites & {"full", *other.suites}
        if shared and other.namespace != game.namespace:
            raise ValueError(f"the suite {min(shared)!r} belongs to another package")


def all_games() -> tuple[GameSpec, ...]:
    """Return this suite's games, then those of other packages."""
    return GAMES + third_party_games()


@cache
def _registered() -> dict[str, tuple[GameSpec, VariantSpec | OpponentSpec]]:
    return {
        f"{game.namespace}/{variant.name}": (game, variant)
        for game in all_games()
        for variant in game.all_variants
    }


def is_registered(env_id: str) -> bool:
    """Return whether a game of this suite or of an installed package has the id."""
    return env_id in _registered()


def find_game(env_id: str) -> GameSpec:
    """Return the game of an id.

    Raises:
        KeyError: If no game has it.
    """
    return _registered()[env_id][0]


def find_variant(env_id: str) -> VariantSpec | OpponentSpec:
    """Return the facts of an id.

    Raises:
        KeyError: If no game has it.
    """
    return _registered()[env_id][1]


def find_reference(env_id: str) -> str:
    """Return why the oracle's score is not an upper bound; "" where it is, or for any other id."""
    variant = find_variant(env_id) if is_registered(env_id) else None
    return variant.reference if isinstance(variant, VariantSpec) else ""


def load_class(env_id: str) -> Any:
    """Import the class that Gymnasium makes for an id.

    Raises:
        KeyError: If no game has the id.
    """
    game, variant = _registered()[env_id]
    owner = variant if isinstance(variant, OpponentSpec) else game
    return import_attribute(owner.entry_point)


def load_harness_class(env_id: str) -> Any:
    """Import the class that a harness steps for an id.

    Raises:
        KeyError: If no game has the id.
    """
    variant = find_variant(env_id)
    if isinstance(variant, OpponentSpec):
        return import_attribute(variant.harness_entry_point)
    return load_class(env_id)


def register_all() -> None:
    """Register every id in Gymnasium."""
    for env_id, (_, variant) in _registered().items():
        gymnasium.register(
            env_id,
            f"ragen_envs.making:{env_id}",
            vector_entry_point=f"ragen_envs.core.vector:{env_id}",
            kwargs={"variant": variant.name},
            # The environments check order and types themselves; wrappers would halve their speed.
            order_enforce=False,
            disable_env_checker=True,
        )

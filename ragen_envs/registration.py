"""The registry of games: this suite's, and those of other installed packages.

A game of this suite is a folder of `ragen_envs/games` with a `spec.py`. Its ids are registered in
Gymnasium when `ragen_envs` is imported. A package adds a game by an entry point of the group
`ragen_envs.games` that names its `GameSpec`. Such games are registered when the first id is looked
up that this suite lacks, since a search of all installed packages takes longer than the import.
No game is imported before it is made.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium

from ragen_envs import games
from ragen_envs.core.game_spec import (
    NAMESPACE,
    GameSpec,
    OpponentSpec,
    VariantSpec,
    find_file,
    import_attribute,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "ragen_envs.games"


def _sort_key(game: GameSpec) -> tuple[str, int, str]:
    return game.namespace, game.order, game.name


def _load_games() -> Iterator[GameSpec]:
    folder = games.__path__[0]  # pkgutil would find the same, but its import is slow
    for name in os.listdir(folder):
        if os.path.exists(os.path.join(folder, name, "spec.py")):
            yield import_module(f"{games.__name__}.{name}.spec").SPEC


GAMES = tuple(sorted(_load_games(), key=_sort_key))
"""This suite's games."""
IDS = tuple(id_ for game in GAMES for id_ in game.ids)
"""This suite's ids that need no opponent."""
OPPONENT_IDS = tuple(id_ for game in GAMES for id_ in game.opponent_ids)
"""This suite's ids that need an opponent. They belong to no suite."""


@cache
def register_third_party_games() -> tuple[GameSpec, ...]:
    """Register the games of other installed packages in Gymnasium, once per process.

    Returns them. A game that cannot be used is skipped, with a warning of this module's logger.
    """
    found: list[GameSpec] = []
    for distribution, entry_point in _find_entry_points():
        try:
            game = entry_point.load()
            _check(game, (*GAMES, *found))
        # The other package's code may raise anything.
        except Exception as error:  # noqa: BLE001
            import logging

            reason = " ".join(f"{type(error).__name__}: {error}".split())
            from ragen_envs.core.visible import visible

            problem = f"the game {entry_point.name!r} of the package {distribution} is left out"
            logging.getLogger(__name__).warning("%s: %s", problem, visible(reason))
        else:
            found.append(game)
    found.sort(key=_sort_key)
    _register(found)
    return tuple(found)


def _find_entry_points() -> Iterator[tuple[str, EntryPoint]]:
    """Yield (entry point, distribution) 20 times as fast as `importlib.metadata` finds them."""
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
    """Check that an object is a game, and that it does not collide with another game."""
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
    return GAMES + register_third_party_games()


def all_ids() -> tuple[str, ...]:
    """Return the ids that need no opponent: this suite's, then those of other packages."""
    return tuple(id_ for game in all_games() for id_ in game.ids)


_registered: dict[str, tuple[GameSpec, VariantSpec | OpponentSpec]] = {}


def _find(env_id: str) -> tuple[GameSpec, VariantSpec | OpponentSpec]:
    if env_id not in _registered:
        register_third_party_games()
    return _registered[env_id]


def is_registered(env_id: str) -> bool:
    """Return whether a game of this suite or of an installed package has the id."""
    if env_id not in _registered:
        register_third_party_games()
    return env_id in _registered


def find_game(env_id: str) -> GameSpec:
    """Return the game of an id; KeyError without one."""
    return _find(env_id)[0]


def find_variant(env_id: str) -> VariantSpec | OpponentSpec:
    """Return the facts of an id; KeyError without a game."""
    return _find(env_id)[1]


def find_reference(env_id: str) -> str:
    """Return why the oracle's score is not an upper bound; "" where it is, or for any other id."""
    variant = find_variant(env_id) if is_registered(env_id) else None
    return variant.reference if isinstance(variant, VariantSpec) else ""


def find_blind_script(env_id: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the actions by turn of an id's blind script; None if its game ships none.

    A file that does not have the form of `GameSpec.blind` is a ValueError.
    """
    if not is_registered(env_id) or not (place := find_game(env_id).blind):
        return None
    return _read_scripts(place).get(env_id.partition("/")[2])


@cache
def _read_scripts(place: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    import json

    with open(find_file(place), encoding="utf-8") as file:
        scripts = json.load(file)
    turns = [turn for script in scripts.values() for turn in script]
    if not all(scripts.values()) or not all(
        isinstance(turn, list) and turn and all(isinstance(action, str) for action in turn)
        for turn in turns
    ):
        raise ValueError(f"{place} must have a list of turns for each variant, each some actions")
    return {name: tuple(map(tuple, script)) for name, script in scripts.items()}


def load_class(env_id: str) -> Any:
    """Import the class that Gymnasium makes for an id; KeyError without a game."""
    game, variant = _find(env_id)
    owner = variant if isinstance(variant, OpponentSpec) else game
    return import_attribute(owner.entry_point)


def load_harness_class(env_id: str) -> Any:
    """Import the class that a harness steps for an id; KeyError without a game."""
    variant = find_variant(env_id)
    if isinstance(variant, OpponentSpec):
        return import_attribute(variant.harness_entry_point)
    return load_class(env_id)


def _register(new: Iterable[GameSpec]) -> None:
    for game in new:
        for variant in game.all_variants:
            env_id = f"{game.namespace}/{variant.name}"
            _registered[env_id] = game, variant
            gymnasium.register(
                env_id,
                f"ragen_envs.making:{env_id}",
                vector_entry_point=f"ragen_envs.core.vector:{env_id}",
                kwargs={"variant": variant.name},
                # The environments check order and types themselves; wrappers would halve their
                # speed.
                order_enforce=False,
                disable_env_checker=True,
            )


_register(GAMES)

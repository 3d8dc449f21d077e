"""TextWorld's challenges: each instance is a game that TextWorld makes and compiles here."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import textworld
from textworld.challenges import CHALLENGES

from ragen_envs.integrations.external.env import ExternalEnv, as_command, find_in_split

SETTINGS: dict[str, tuple[str, ...]] = {
    "coin_collector": ("--level", "5"),
    "coin_collector-hard": ("--level", "210"),
    "treasure_hunter": ("--level", "5"),
    "treasure_hunter-hard": ("--level", "25"),
    "cooking": ("--recipe", "1", "--take", "1", "--go", "1"),
    "cooking-hard": (*("--recipe", "3", "--take", "3", "--go", "6"), "--open", "--cook", "--cut"),
}
"""Settings of each challenge, as `tw-make` takes them. `tw-simple` makes too few different games
for splits."""
INFOS = textworld.EnvInfos(
    feedback=True,
    won=True,
    lost=True,
    score=True,
    max_score=True,
    admissible_commands=True,
    policy_commands=True,
)
_FORM = "Give one command between <answer> and </answer>, such as <answer>look</answer>."
_MAX_COMMAND = 200
"""Maximum length of a command; the interpreter's buffer is not much longer."""
_OUR_NAMES = {"train": "train", "val": "valid", "test": "test"}


def list_names() -> tuple[str, ...]:
    """Return the names of the challenges."""
    return tuple(SETTINGS)


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


def make_game(challenge: str, settings: Sequence[str], seed: int) -> tuple[Any, Any]:
    """Return the game that TextWorld makes of a seed, and its options.

    Args:
        challenge: Name in TextWorld, such as "tw-cooking".
        settings: Settings as `tw-make` takes them.
        seed: The seed.
    """
    _, make, add_arguments = CHALLENGES[challenge]
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = textworld.GameOptions()
    options.seeds = seed
    options.path = str(Path(_folder().name) / f"{challenge}-{'-'.join(settings)}-{seed}.z8")
    return make(vars(parser.parse_args(settings)), options), options


@cache
def _find(name: str, split: str, index: int) -> tuple[str, str]:
    """Return the file of an instance and its digest."""
    challenge, settings = f"tw-{name.removesuffix('-hard')}", SETTINGS[name]
    if challenge == "tw-cooking":  # its splits have other ingredients and recipes
        settings += ("--split", _OUR_NAMES[split])

    def make(seed: int) -> tuple[tuple[Any, Any], bytes]:
        game, options = make_game(challenge, settings, seed)
        return (game, options), _content(game)

    (game, options), digest = find_in_split(f"textworld:{name}", split, index, make)
    return str(textworld.generator.compile_game(game, options)), digest


def _content(game: Any) -> bytes:
    """Return what a game is played on: map, objects, and goals, less the prose about them."""
    facts = sorted(map(str, game.world.facts))
    goals = [str(event.condition) for quest in game.quests for event in quest.win_events]
    recipe = [f"{each.id}={each.name}" for each in game.infos.values() if each.type == "f"]
    return "\n".join([*facts, *goals, *recipe]).encode()


def _drop_banner(text: str) -> str:
    """Return the opening text without TextWorld's name in letters of dollar signs."""
    _, sign, rest = text.rpartition("$$")
    return (rest.partition("\n")[2] if sign else text).strip()


class CommandEnv(ExternalEnv):
    """A game that TextWorld's interpreters play, one command per response."""

    wrappers: tuple[Callable[..., Any], ...] = ()
    _game: Any = None

    def _start(self, index: int) -> str:
        self.close()
        file, self._digest = self._find_file(index)
        self._game = textworld.start(file, INFOS, wrappers=list(self.wrappers))
        self._state = self._game.reset()
        return f"{_drop_banner(str(self._state.feedback))}\n\n{_FORM}"

    def _find_file(self, index: int) -> tuple[str, str]:
        """Return the file of an instance, and a text that names it."""
        raise NotImplementedError

    def _apply(self, action: str) -> tuple[str, bool]:
        # A backslash begins settings of the interpreter, which waits for ever after unknown ones.
        command = as_command(action.replace("\\", " "), _MAX_COMMAND)
        self._is_valid = command in self.legal_actions
        self._state, points, ended = self._game.step(command)
        self.score = min(max(points / (self._state.max_score or 1), 0.0), 1.0)
        return str(self._state.feedback).strip(), bool(ended)

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The admissible commands; others are understood too, and change nothing."""
        return tuple(self._state.admissible_commands or ()) if self._running else ()

    def best_actions(self) -> tuple[str, ...]:
        """Return the next command of TextWorld's winning policy."""
        return tuple((self._state.policy_commands or [])[:1])

    def close(self) -> None:
        """Release the interpreter."""
        if self._game is not None:
            self._game.close()
            self._game = None

    @property
    def instance(self) -> str:
        """The hash of the game's content."""
        return self._digest


class Env(CommandEnv):
    """A challenge of TextWorld; the reward is the part of the points that a command earns.

    The split of a game is decided by a hash of its map, objects and goals. The first observation
    states the goal. Reaching all points wins.
    """

    def _find_file(self, index: int) -> tuple[str, str]:
        return _find(self.name, self.split, index)

"""verifiers' own example that plays several turns: TextArena's word games as a taskset."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ragen_envs.integrations.verifiers import TasksetEnv
from ragen_envs.testing import Subject
from tests.ragen_envs.peers.told import subject

PACKAGE = "verifiers"
GAMES = {
    "Hangman-v0": ("[e]", "[a]", "[t]"),
    "WordLadder-v0": ("[cat]", "[cot]"),
    "WordSearch-v0": ("[0 0 0 4]", "[1 1 5 1]"),
    "Wordle-v0": ("[crane]", "[slate]"),
    "Wordle-v0-long": ("[cranes]", "[slated]"),
}
"""The games that it takes, and answers in their form."""


def _game(game: str) -> Subject:
    make = partial(TasksetEnv, "textarena", {"game": game})
    return subject(make, answers=GAMES[game], seeds=(0, 1))


SUBJECTS: dict[str, Callable[[], Subject]] = {
    f"textarena {game}": partial(_game, game) for game in GAMES
}

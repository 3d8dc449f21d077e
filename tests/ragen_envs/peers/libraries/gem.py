"""gem's games, each in its easy form."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ragen_envs.testing import Subject
from tests.ragen_envs.peers import players
from tests.ragen_envs.peers.gem_text import GemText
from tests.ragen_envs.peers.told import SPACES, in_form, moves, subject

PACKAGE = "gem-llm"
_FORM = "\\boxed{{{}}}"


def _game(id_: str, answers: tuple[str, ...], max_turns: int, **told: Any) -> Subject:
    make = partial(GemText, id_)
    return subject(make, answers=answers, max_turns=max_turns, skip=SPACES, **told)


def _boxed(*answers: str) -> tuple[str, ...]:
    return tuple(_FORM.format(answer) for answer in answers)


GAMES: dict[str, tuple[tuple[str, ...], int]] = {
    "game:Crosswords-v0-easy": (_boxed("6 2 a", "3 2 b", "6 3 e"), 30),
    "game:FifteenPuzzle-v0-easy": (moves(_FORM), 10),
    "game:Game2048-v0-easy": (moves(_FORM), 50),
    "game:GuessTheNumber-v0-easy": (_boxed("2", "5", "8"), 4),
    "game:Hangman-v0-easy": (_boxed("e", "a", "t"), 10),
    "game:Mastermind-v0-easy": (_boxed("1 3", "2 4", "5 1"), 10),
    "game:Minesweeper-v0-easy": (_boxed("reveal 0 0", "reveal 3 2", "flag 1 1"), 25),
    "game:Sudoku-v0-easy": (_boxed("1 1 3", "2 2 4", "4 1 1"), 15),
    "game:TowerofHanoi-v0-easy": (_boxed("A B", "A C", "B C", "C A"), 10),
    "game:WordSearch-v0-easy": (_boxed("0 0 0 4"), 20),
    "game:Wordle-v0-easy": (_boxed("crane", "slate"), 15),
}
"""Id -> answers in its form, and the turns that its registration states."""

SUBJECTS: dict[str, Callable[[], Subject]] = {
    "game:Sokoban-v0-easy": lambda: _game(
        "game:Sokoban-v0-easy",
        moves(_FORM),
        20,
        canonical=players.sokoban_instance,
        oracle=in_form(_FORM, players.sokoban_move),
        ceiling=1.0,
    ),
    **{id_: partial(_game, id_, *told) for id_, told in GAMES.items()},
}

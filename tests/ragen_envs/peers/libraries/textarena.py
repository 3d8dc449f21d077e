"""TextArena's games for one player, each id that differs from another by more than numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ragen_envs.testing import Subject
from tests.ragen_envs.peers import players
from tests.ragen_envs.peers.textarena_text import TextArenaText
from tests.ragen_envs.peers.told import SPACES, in_form, moves, subject

PACKAGE = "textarena"
QUICK_SEEDS = (2, 8)
"""For Sokoban: these levels take it 15 and 35 ms, others up to 190."""
_CELLS = tuple(f"[{row} {column}]" for row in range(5) for column in range(5))


def _game(id_: str, answers: tuple[str, ...], max_turns: int | None, **told: Any) -> Subject:
    make = partial(TextArenaText, id_)
    return subject(make, answers=answers, max_turns=max_turns, skip=SPACES, **told)


GAMES: dict[str, tuple[tuple[str, ...], int | None]] = {
    "2048-v0": (moves("[{}]"), None),
    "Bandit-v0": (("[red]", "[blue]", "[green]"), 20),
    "Blackjack-v0": (("[Hit]", "[Stand]"), None),
    "Countdown-v0": (("[0 1 +]", "[0 1 -]", "[1 0 *]"), 12),
    "Crosswords-v0": (("[6 2 a]", "[3 2 b]", "[6 3 e]"), 30),
    "Cryptarithm-v0": (("[S 9]", "[E 5]", "[N 6]", "[D 7]", "[M 1]"), 100),
    "FifteenPuzzle-v0": (moves("[{}]"), 200),
    "GuessTheNumber-v0": (("[3]", "[7]", "[12]", "[18]"), 10),
    "GuessWho-v0": (("[Does the person have glasses?]",), 20),
    "Hangman-v0": (("[e]", "[a]", "[t]"), None),
    "Klondike-v0": (("[draw]",), None),
    "LightsOut-v0": (_CELLS, 20),
    "LogicPuzzle-v0": (("[pizza alice X]", "[burger bob O]"), 30),
    "Mastermind-v0": (("[1 2 3 4]", "[2 3 4 5]", "[6 5 4 3]"), 20),
    "Minesweeper-v0": (_CELLS, 100),
    "PegJump-v0": (("[12 5]", "[14 5]", "[4 6]", "[1 4]"), None),
    "RushHour-v0": (("[A+]", "[A-]", "[B+]", "[B-]", "[C+]"), None),
    "Secretary-v0": (("[accept]", "[continue]"), 5),
    "Set-v0": (("[1, 2, 3]", "[4, 5, 6]"), 20),
    "Slitherlink-v0": (("[h 0 0]", "[v 1 1]", "[h 2 3]"), 200),
    "Sudoku-v0": (("[1 1 5]", "[5 3 7]", "[9 9 1]"), 100),
    "ThreeCardMonte-v0": (("[0]", "[1]", "[2]"), None),
    "TowerOfHanoi-v0": (("[A B]", "[A C]", "[B C]", "[C A]"), 14),
    "TwentyQuestions-v0": (("[Is it an animal?]",), 20),
    "UltimateTexasHoldem-v0": (("[check]",), None),
    "WordLadder-v0": (("[cat]", "[cot]"), 100),
    "WordSearch-v0": (("[0 0 0 4]",), 20),
    "Wordle-v0": (("[crane]", "[slate]"), 6),
}
"""Id -> answers in its form, and the turns that its registration or its class states."""

SUBJECTS: dict[str, Callable[[], Subject]] = {
    "Sokoban-v0": lambda: _game(
        "Sokoban-v0",
        moves("[{}]"),
        30,
        seeds=QUICK_SEEDS,
        canonical=players.sokoban_instance,
        oracle=in_form("[{}]", players.sokoban_move),
        ceiling=1.0,
    ),
    "FrozenLake-v0": lambda: _game(
        "FrozenLake-v0",
        moves("[{}]"),
        100,
        canonical=players.lake_instance,
        oracle=in_form("[{}]", players.lake_move),
        ceiling=1.0,
    ),
    **{id_: partial(_game, id_, *told) for id_, told in GAMES.items()},
}

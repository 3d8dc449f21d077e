"""The analysis of each game; a further game is one more file and one more line in the table."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ragen_bench.analysis.games.base import Reading
from ragen_bench.environments import class_of, is_own

TABLE = {
    "foreign": "foreign:ForeignReading",
    "bandit": "bandit:BanditReading",
    "bandit-multi-pull": "multi_pull:MultiPullReading",
    "countdown": "countdown:CountdownReading",
    "cube": "cube:CubeReading",
    "desk": "desk:DeskReading",
    "frozen-lake": "frozen_lake:FrozenLakeReading",
    "mastermind": "mastermind:MastermindReading",
    "minesweeper": "minesweeper:MinesweeperReading",
    "sokoban": "sokoban:SokobanReading",
    "twenty-questions": "twenty_questions:TwentyQuestionsReading",
    "webshop": "webshop:WebShopReading",
}
"""From the name of a game to the class that reads its episodes; "foreign" for any other one's."""


def reading_of(env: str) -> Reading:
    """Return the reading of an environment's game.

    Raises:
        KeyError: if there is no such environment, or its game has no line in the table.
    """
    game = class_of(env).game
    if not is_own(env) and game not in TABLE:
        game = "foreign"
    module, _, name = TABLE[game].partition(":")
    reading: Any = getattr(import_module(f"{__name__}.{module}"), name)()
    return reading  # type: ignore[no-any-return]

"""The squares of Minesweeper, as numbers and as colours."""

from __future__ import annotations

from functools import lru_cache

from ragen_envs.core.boards import DIGITS, Colour, Tile
from ragen_envs.games.minesweeper.rules import CLOSED
from ragen_envs.games.minesweeper.text import HIT

_OPEN, _SHUT = (232, 232, 226), (142, 154, 172)
_INKS: tuple[Colour, ...] = (
    (0, 0, 0),
    (30, 70, 200),
    (20, 120, 50),
    (200, 30, 30),
    (20, 20, 110),
    (120, 20, 30),
    (0, 120, 130),
    (20, 20, 20),
    (110, 110, 110),
)
"""Colours of the digits 0 to 8; 0 is not drawn."""
_MINE = (
    "...##...",
    ".#.##.#.",
    "..####..",
    "########",
    "########",
    "..####..",
    ".#.##.#.",
    "...##...",
)
_LID = (
    "........",
    ".######.",
    ".######.",
    ".######.",
    ".######.",
    ".######.",
    ".######.",
    "........",
)
_DARK = (40, 42, 48)
TILES = (
    Tile("0 around it", _OPEN, look="empty and pale"),
    *(
        Tile(f"{digit} around it", _OPEN, DIGITS[digit], _INKS[digit], f"the digit {digit}")
        for digit in range(1, 9)
    ),
    Tile("closed", _SHUT, look="empty and blue-grey"),
    Tile("a mine that you opened", (214, 60, 50), _MINE, look="a black star on red"),
    Tile("no square at all", _DARK, look="empty and dark"),
)
"""The digits of open squares come first, each in the place of its number."""
MINES = Tile("mines", _DARK, _MINE, (240, 240, 240), "beside a white star on dark")
TO_OPEN = Tile("squares to open", _DARK, _LID, _SHUT, "beside a blue-grey square on dark")
_NUMBERS = bytes.maketrans(f"012345678{CLOSED}{HIT}".encode(), bytes(range(11)))
_NOTHING = bytes([len(TILES) - 1])


@lru_cache(maxsize=1024)
def tile_numbers(squares: str, width: int, size: int) -> bytes:
    """Return the number in `TILES` of each square, row by row.

    Args:
        squares: One symbol per square, row by row.
        width: Number of columns.
        size: Rows and columns of the result, which has the board in its upper left corner.
    """
    numbers = squares.encode().translate(_NUMBERS)
    rows = [numbers[i : i + width].ljust(size, _NOTHING) for i in range(0, len(numbers), width)]
    return b"".join(rows).ljust(size * size, _NOTHING)

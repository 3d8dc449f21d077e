"""The texts of 2048: its rules, boards as text, and the tiles of pictures."""

from __future__ import annotations

from functools import lru_cache

from ragen_envs.core.boards import BLANK, DIGITS, Colour, Tile
from ragen_envs.core.wording import pluralize
from ragen_envs.games.twenty_forty_eight.rules import ACTIONS, LARGEST, NEW, TWOS, unpack

EMPTY = "."
SYMBOLS = f"Symbols: {EMPTY} an empty square; a number, a tile."


def rules(legend: str, target: int, turns: int) -> str:
    """Return the rules; the legend is the line that explains the symbols of the squares."""
    return (
        f"You are playing 2048: slide the tiles until one of them is {1 << target}.\n"
        f"{legend}\n"
        "A move slides all tiles as far as they go. Two equal tiles that meet become one tile of "
        "their sum. Each tile merges once in a move, and of three in a line the two that are "
        "farther in its direction merge.\n"
        "After each move that changes the board, a new tile appears on an empty square, all of "
        f"them equally likely: a 2 in {TWOS} of {NEW} cases, else a 4. A move that changes nothing "
        "only costs the turn. You lose if no move changes the board.\n"
        f"Actions: {', '.join(ACTIONS)}.\n"
        f"You have {pluralize(turns, 'turn')}, with one action each."
    )


@lru_cache(maxsize=8192)
def draw_board(board: int, size: int, width: int) -> str:
    """Return a board as text, in columns of `width` characters."""
    squares = [str(1 << n) if n else EMPTY for n in unpack(board, size**2)]
    rows = (squares[i : i + size] for i in range(0, size**2, size))
    return "\n".join([" ".join([square.rjust(width) for square in row]) for row in rows])


def read_board(text: str) -> list[int]:
    """Return the tile numbers of a board that `draw_board` wrote."""
    return [0 if word == EMPTY else int(word).bit_length() - 1 for word in text.split()]


_MARK = 16
"""Rows of a tile's mark."""
_DIGIT = 5
"""Columns of a digit, from the second of its mark on."""


def _mark(number: int) -> tuple[str, ...]:
    """Return the mark of a tile: its digits side by side, in the middle."""
    digits = [DIGITS[int(digit)] for digit in str(1 << number)]
    rows = ["".join(d[y][1 : 1 + _DIGIT] for d in digits).center(_MARK, ".") for y in range(8)]
    blank = "." * _MARK
    return (*[blank] * 4, *rows, *[blank] * 4)


_GROUNDS: tuple[Colour, ...] = (
    (238, 228, 218),
    (236, 214, 178),
    (242, 177, 121),
    (245, 149, 99),
    (246, 124, 95),
    (236, 94, 62),
    (237, 204, 97),
)
TILES = (
    Tile("empty", (205, 193, 180), BLANK),
    *(
        Tile(f"tile {1 << number}", _GROUNDS[number - 1], _mark(number), (70, 60, 52))
        for number in range(1, LARGEST + 1)
    ),
)
"""The tiles of a picture by their numbers."""

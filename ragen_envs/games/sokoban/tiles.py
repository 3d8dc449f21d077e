"""The squares of Sokoban, as numbers and as colours."""

from __future__ import annotations

from ragen_envs.core.boards import FIGURE, PLAYER_INK, Tile
from ragen_envs.games.sokoban.rules import (
    BOX,
    BOX_ON_TARGET,
    FLOOR,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    Level,
)

_STONE, _GROUND = (84, 88, 100), (236, 229, 214)
_RED, _WOOD, _GREEN = (200, 60, 50), (160, 104, 48), (52, 140, 72)
_BRICKS = (
    "........",
    "#######.",
    "........",
    "###.####",
    "........",
    "#######.",
    "........",
    "###.####",
)
_RING = (
    "........",
    "..####..",
    ".#....#.",
    ".#.##.#.",
    ".#.##.#.",
    ".#....#.",
    "..####..",
    "........",
)
_CRATE = (
    "........",
    ".######.",
    ".##..##.",
    ".#.##.#.",
    ".#.##.#.",
    ".##..##.",
    ".######.",
    "........",
)
_FIGURE_IN_RING = (
    "#..##..#",
    "...##...",
    ".######.",
    ".#.##.#.",
    "...##...",
    "..####..",
    "..#..#..",
    "###..###",
)
TILES = (
    Tile("wall", _STONE, _BRICKS, (112, 116, 128), "grey bricks"),
    Tile("floor", _GROUND, look="empty and pale"),
    Tile("target", _GROUND, _RING, _RED, "a red ring"),
    Tile("box", _GROUND, _CRATE, _WOOD, "a brown crate"),
    Tile("box on target", _GROUND, _CRATE, _GREEN, "a green crate"),
    Tile("player", _GROUND, FIGURE, PLAYER_INK, "a blue figure, which is you"),
    Tile("player on target", (244, 200, 190), _FIGURE_IN_RING, PLAYER_INK, "the figure on pink"),
)
"""In the order of XSB's ``# .$*@+``."""
_XSB = (WALL, FLOOR, TARGET, BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET)
_NUMBERS = bytes.maketrans("".join(_XSB).encode(), bytes(range(len(_XSB))))
_PIECES = {FLOOR: (BOX, PLAYER), TARGET: (BOX_ON_TARGET, PLAYER_ON_TARGET)}
"""The symbols of an empty square with a box on it, and with the player."""


def tile_numbers(level: Level, player: int, boxes: int) -> bytes:
    """Return the number in `TILES` of each square, row by row.

    Args:
        level: Level; only its walls and targets matter.
        player: Square of the player, numbered as in `Level`.
        boxes: Squares of the boxes, one bit each.
    """
    squares = list(level.room)
    squares[player] = _PIECES[squares[player]][1]
    while boxes:
        square = boxes.bit_length() - 1
        squares[square] = _PIECES[squares[square]][0]
        boxes ^= 1 << square
    return "".join(squares).encode().translate(_NUMBERS, b"\n")

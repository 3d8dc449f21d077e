"""The squares of FrozenLake, as numbers and as colours."""

from __future__ import annotations

from ragen_envs.core.boards import FIGURE, PLAYER_INK, Tile
from ragen_envs.games.frozen_lake.rules import FROZEN, GOAL, HOLE, START, Lake

_ICE, _WATER, _GOLD = (206, 228, 240), (24, 52, 84), (250, 214, 110)
_HOLE = (
    "........",
    "..####..",
    ".######.",
    ".######.",
    ".######.",
    ".######.",
    "..####..",
    "........",
)
_FLAG = (
    "..##....",
    "..#####.",
    "..######",
    "..#####.",
    "..##....",
    "..##....",
    "..##....",
    ".####...",
)
_SUNK = (
    "........",
    "........",
    ".#....#.",
    ".#.##.#.",
    "..####..",
    "...##...",
    "##.##.##",
    "........",
)
TILES = (
    Tile("ice", _ICE, look="empty and pale blue"),
    Tile("hole", _ICE, _HOLE, _WATER, "a dark disc"),
    Tile("goal", _GOLD, _FLAG, (180, 40, 40), "a red flag on gold"),
    Tile("player", _ICE, FIGURE, PLAYER_INK, "a blue figure, which is you"),
    Tile("player in a hole", _WATER, _SUNK, (150, 190, 230), "a pale figure on dark blue"),
    Tile("player on the goal", _GOLD, FIGURE, PLAYER_INK, "the figure on gold"),
)
_PLAYER = 3
"""The tiles from here on show the player, on what the ones from 0 on show."""
_NUMBERS = bytes.maketrans((START + FROZEN + HOLE + GOAL).encode(), bytes((0, 0, 1, 2)))


def tile_numbers(lake: Lake, player: int) -> bytes:
    """Return the number in `TILES` of each square, row by row.

    Args:
        lake: the lake.
        player: the player's square, numbered as in `Lake`.
    """
    squares = bytearray(lake.map.encode().translate(_NUMBERS))
    squares[player] += _PLAYER
    return bytes(squares).replace(b"\n", b"")

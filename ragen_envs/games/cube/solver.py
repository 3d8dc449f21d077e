"""Shortest solutions, read from the table of all positions."""

from __future__ import annotations

from ragen_envs.games.cube.positions import SOLVED, positions
from ragen_envs.games.cube.table import table


def distance(stickers: str) -> int:
    """Return the moves of a shortest solution of a cube, 0 to 11."""
    return table().distance(positions().number(stickers))


def solution(stickers: str) -> list[int]:
    """Return a shortest solution as indices of `ACTIONS`; ties go to the first index."""
    moves = []
    number = positions().number(stickers)
    while number != SOLVED:
        move, number = table().best_move(number)
        moves.append(move)
    return moves

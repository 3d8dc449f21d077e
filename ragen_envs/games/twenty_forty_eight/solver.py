"""The reference player: expectimax over the next moves and new tiles.

It looks two new tiles ahead. A board beyond is rated by its rows and columns, except when it is
won, or no moves are left. So the last moves of the budget are rated exactly, and all others by an
estimate: a better player may exist.

Ratings are ints from 0 for a loss to `WON`, so that no rounding of floats decides between moves.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragen_envs.games.twenty_forty_eight.rules import (
    BITS,
    LARGEST,
    NEW,
    TWOS,
    rows_of,
    unpack,
)

WON = 1_000_000
DEPTH = 2
"""Number of new tiles that the player looks ahead."""
# The weights of an estimate were chosen on openings of random play, by the rate of success.
_START = 600_000
_EMPTY = 4_000
"""Of an empty square, once in its row and once in its column, as all of these."""
_EQUAL = 6_000
"""Of two equal tiles with nothing between them, times their number."""
_UNEQUAL = -2_000
"""Of two other tiles with nothing between them, times the difference of their numbers."""
_TARGET = 100_000
"""Of a target tile; each smaller tile has a third of the next one's."""

Boards: TypeAlias = NDArray[np.int64]
"""Boards as in `rules`."""


class Expectimax:
    """The reference player of a size and a target. Use `player_of`, which keeps them."""

    def __init__(self, size: int, target: int) -> None:
        rows = rows_of(size)
        self._mask = rows.mask
        self._left, self._right, self._spread, largest = (
            np.array(table, dtype=np.int64)
            for table in (rows.left, rows.right, rows.spread, rows.largest)
        )
        self._has_target = largest >= target
        numbers = (unpack(row, size) for row in range(rows.mask + 1))
        self._estimates = np.array([_rate_row(row, target) for row in numbers], dtype=np.int64)
        # Tables are looked up for all rows of all boards at once, along the first axis.
        self._shifts = np.array(rows.shifts, dtype=np.int64)[:, None]
        self._columns = BITS * np.arange(size, dtype=np.int64)[:, None]
        self._squares = BITS * np.arange(size**2, dtype=np.int64)

    def rate(self, board: int, moves_left: int) -> dict[int, int]:
        """Return the rating of each action that changes the board."""
        boards = np.array([board], dtype=np.int64)
        moved = self._move(boards)[:, 0]
        changing = np.flatnonzero(moved != board)
        ratings = self._rate_after(moved[changing], moves_left - 1, DEPTH)
        return dict(zip(changing.tolist(), ratings.tolist(), strict=True))

    def find_best(self, board: int, moves_left: int) -> int:
        """Return the action with the best rating, the first of equal ones."""
        ratings = self.rate(board, moves_left)
        return max(ratings, key=ratings.__getitem__)

    def _rows(self, boards: Boards) -> Boards:
        """Return the rows of boards, of shape (rows, boards)."""
        return boards >> self._shifts & self._mask

    def _transpose(self, boards: Boards) -> Boards:
        turned: Boards = (self._spread[self._rows(boards)] << self._columns).sum(axis=0)
        return turned

    def _move(self, boards: Boards) -> Boards:
        """Return the boards after each action, of shape (actions, boards)."""
        turned = self._rows(np.concatenate([self._transpose(boards), boards]))
        back, on = (
            (table[turned] << self._shifts).sum(axis=0) for table in (self._left, self._right)
        )
        half = len(boards)
        up, down = self._transpose(back[:half]), self._transpose(on[:half])
        return np.stack([up, on[half:], down, back[half:]])

    def _rate_after(self, boards: Boards, moves_left: int, depth: int) -> Boards:
        """Return the ratings of boards after a move, before the new tile."""
        won = self._has_target[self._rows(boards)].any(axis=0)
        ratings: Boards = np.where(won, np.int64(WON), np.int64(0))
        rest = np.flatnonzero(~won)
        if moves_left and len(rest):
            rate = self._expect if depth else self._estimate
            ratings[rest] = rate(boards[rest], moves_left, depth)
        return ratings

    def _estimate(self, boards: Boards, *_: int) -> Boards:
        both = np.concatenate([self._rows(boards), self._rows(self._transpose(boards))])
        rated: Boards = _START + self._estimates[both].sum(axis=0)
        return rated.clip(1, WON - 1)

    def _expect(self, boards: Boards, moves_left: int, depth: int) -> Boards:
        """Return the mean rating over the new tiles, rounded down."""
        empty = (boards[:, None] >> self._squares & LARGEST) == 0
        owner, square = np.nonzero(empty)
        tile = 1 << self._squares[square]
        new = np.concatenate([boards[owner] | tile, boards[owner] | tile << 1])
        twos, fours = np.split(self._rate_best(new, moves_left, depth - 1), 2)
        total = TWOS * twos + (NEW - TWOS) * fours
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        means: Boards = np.add.reduceat(total, starts) // (NEW * empty.sum(axis=1))
        return means

    def _rate_best(self, boards: Boards, moves_left: int, depth: int) -> Boards:
        """Return the best ratings of moves; different boards are rated once each."""
        boards, places = np.unique(boards, return_inverse=True)
        moved = self._move(boards)
        is_changed = moved != boards
        after, inverse = np.unique(moved[is_changed], return_inverse=True)
        ratings = np.zeros(moved.shape, dtype=np.int64)
        if len(after):
            ratings[is_changed] = self._rate_after(after, moves_left - 1, depth)[inverse]
        best: Boards = ratings.max(axis=0)[places]
        return best


def _rate_row(numbers: list[int], target: int) -> int:
    tiles = [number for number in numbers if number]
    pairs = [
        _EQUAL * first if first == second else _UNEQUAL * abs(first - second)
        for first, second in pairwise(tiles)
    ]
    powers: int = sum([_TARGET * 3**tile for tile in tiles]) // 3**target
    return _EMPTY * numbers.count(0) + sum(pairs) + powers


player_of = cache(Expectimax)

"""The generator of openings: random mines, an open area, and a few other open squares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.minesweeper.players import reference
from ragen_envs.games.minesweeper.rules import (
    CLOSED,
    Opening,
    neighbours_of,
    open_after,
    show_board,
)

_LEAST_TO_OPEN = 4
"""Minimum number of closed squares without a mine."""
_LARGEST = 8
_LARGEST_EXACT = 5
"""Maximum rows and columns of boards whose layouts are listed."""


@dataclass(frozen=True)
class Generator:
    """Makes boards on which some squares are open.

    The first square has no mine on it or around it, so it opens its neighbours. Up to `max_further`
    other random squares without a mine are opened after it. Without these there would be some 1,900
    different openings, too few for the splits.
    """

    min_size: int = 4  # of rows and columns, which are drawn independently
    max_size: int = 5  # up to 5, or up to 8 with `max_layouts=None`
    min_mines: int = 3
    max_mines: int = 6
    max_further: int = 2
    max_to_open: int = 15  # closed squares without a mine
    max_layouts: int | None = 150  # at least 2; None for no maximum, and layouts are not listed

    def __post_init__(self) -> None:
        largest = _LARGEST if self.max_layouts is None else _LARGEST_EXACT
        if not 4 <= self.min_size <= self.max_size <= largest:
            beyond = "" if self.max_layouts is None else f"; max_layouts=None takes {_LARGEST}"
            raise ValueError(
                f"sizes go from 4 to {largest}, got min_size={self.min_size} and "
                f"max_size={self.max_size}{beyond}"
            )
        most = self.min_size**2 - 9
        if not 1 <= self.min_mines <= self.max_mines <= most:
            raise ValueError(
                f"mines go from 1 to {most} here, got min_mines={self.min_mines} and "
                f"max_mines={self.max_mines}"
            )

    def __call__(self, stream: RandomStream) -> Iterator[Opening | None]:
        """Yield openings, each a pure function of the stream, and None where a try gave none."""
        sizes = self.max_size - self.min_size + 1
        while True:
            height, width = (self.min_size + roll for roll in stream.rolls(sizes, 2))
            count = self.min_mines + stream.below(self.max_mines - self.min_mines + 1)
            further = stream.below(self.max_further + 1)
            squares = stream.sample(range(height * width), count + 1 + further)
            mines = sum(1 << square for square in squares[:count])
            yield self._make_opening(height, width, mines, squares[count:])

    def _make_opening(
        self, height: int, width: int, mines: int, squares: list[int]
    ) -> Opening | None:
        """Return the opening after these squares are opened; None if it is not accepted."""
        neighbours = neighbours_of(height, width)
        if neighbours[squares[0]] & mines:
            return None
        opened = 0
        for square in squares:
            opened = open_after(neighbours, mines, opened, square)
        board = show_board(neighbours, mines, opened)
        count = mines.bit_count()
        if not _LEAST_TO_OPEN <= board.count(CLOSED) - count <= self.max_to_open:
            return None
        rows = [board[i : i + width] for i in range(0, height * width, width)]
        opening = Opening("\n".join(rows), count)
        if self.max_layouts is None:
            counting = reference(opening)
            is_accepted = counting.count(counting.start) >= 2
        else:
            is_accepted = 2 <= len(opening.layouts) <= self.max_layouts
        return opening if is_accepted else None

"""The generator of openings: random moves from an empty board, up to a sum of tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.twenty_forty_eight.rules import ACTIONS, LARGEST, Opening, rows_of, sum_tiles


@dataclass(frozen=True)
class Generator:
    """Makes boards that random play reaches, all with the same sum of tiles.

    `target` is the number of the tile to reach, 6 for 64; an opening has smaller tiles only.
    """

    size: int = 3
    target: int = 6
    total: int = 48

    def __post_init__(self) -> None:
        if not 2 <= self.size <= 4:
            raise ValueError(f"size goes from 2 to 4, got {self.size!r}")
        if not 3 <= self.target <= LARGEST:
            raise ValueError(f"target goes from 3 to {LARGEST}, got {self.target!r}")
        if self.total % 2 or not 4 <= self.total < 2 << self.target:
            raise ValueError(
                f"total is even and goes from 4 to {(2 << self.target) - 2}, got {self.total!r}"
            )

    def __call__(self, stream: RandomStream) -> Iterator[Opening | None]:
        """Yield openings, each a pure function of the stream, and None where a try gave none."""
        rows, squares = rows_of(self.size), self.size**2
        while True:
            board = rows.add_tile(0, stream.word())
            while sum_tiles(board, squares) < self.total:
                after = rows.move(board, stream.below(len(ACTIONS)))
                if after != board:
                    board = rows.add_tile(after, stream.word())
                elif rows.is_stuck(board):
                    break
            is_lower = rows.find_largest(board) < self.target
            is_accepted = is_lower and sum_tiles(board, squares) == self.total
            yield Opening(self.size, board) if is_accepted and not rows.is_stuck(board) else None

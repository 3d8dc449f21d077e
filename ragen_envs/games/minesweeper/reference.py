"""The reference player of boards that are too large for the exact one: exact risks, no look ahead.

It opens a square that is surely safe, or else one with the lowest chance of a mine; of equal ones
the one with the fewest squares around it, which shows a 0 most often, and of those the first. A
player who also weighs what a square would show can do better, so its success is not an upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.minesweeper.counting import Counts, Layouts
from ragen_envs.games.minesweeper.player import Player
from ragen_envs.games.minesweeper.rules import Opening, open_after, shown

ROLLOUTS = 64
"""Layouts of an opening that its success is estimated from."""
_KEPT = 64
"""Boards whose counts are kept: they are asked for by `info`, by the oracle and by the analysis."""


class Shown(NamedTuple):
    """The knowledge: the symbols on the board.

    Attributes:
        opened: the open squares.
        board: Symbols of the squares, as `rules.shown` returns them.
    """

    opened: int
    board: str


class Reference(Player[Shown]):
    """The reference player on one opening. Use `reference`, which keeps the recent ones.

    Args:
        opening: The opening.
    """

    def __init__(self, opening: Opening) -> None:
        self._neighbours, self._mines = opening.neighbours, opening.mines
        self.start = Shown(opening.opened, opening.board.replace("\n", ""))
        self._layouts = Layouts(self._neighbours, self.start.board, self._mines)
        self._counts: dict[str, Counts] = {}

    def drawn(self, stream: RandomStream) -> int:
        """Return one of the sets of mines that the opening allows, all equally likely.

        To within their number over 2**128, as there may be more than a word of the stream tells.
        """
        total = self.count(self.start)
        return self._layouts.layout((stream.word() << 64 | stream.word()) * total >> 128)

    def after(self, knowledge: Shown, board: str, opened: int) -> Shown:  # noqa: ARG002 (a Player's)
        """Return the knowledge after more squares are opened."""
        return Shown(opened, board)

    def count(self, knowledge: Shown) -> int:
        """Return how many layouts of mines are possible."""
        return self._of(knowledge).total

    def mined(self, knowledge: Shown) -> dict[int, int]:
        """Return for each closed square, in order, in how many of the layouts it has a mine."""
        return self._of(knowledge).mined

    def best_square(self, knowledge: Shown) -> int:
        """Return the closed square that the player opens."""
        mined, neighbours = self.mined(knowledge), self._neighbours
        return min(mined, key=lambda s: (mined[s], neighbours[s].bit_count(), s))

    def is_best(self, knowledge: Shown, square: int) -> bool:
        """Return whether no closed square has a lower chance of a mine."""
        mined = self.mined(knowledge)
        return mined[square] == min(mined.values())

    def success(self, rollouts: int = ROLLOUTS) -> float:
        """Return an estimate of the player's chance of success.

        It is the share won of layouts that are spread evenly over all that the opening allows, of
        each one where there are no more than `rollouts`.
        """
        total = self.count(self.start)
        played = min(total, rollouts)
        layouts = [self._layouts.layout((2 * i + 1) * total // (2 * played)) for i in range(played)]
        return self._won(self.start, layouts) / played

    def _won(self, knowledge: Shown, layouts: Sequence[int]) -> int:
        """Return how many of the layouts are won from where all of them show the same."""
        if knowledge.opened.bit_count() + self._mines == len(self._neighbours):
            return len(layouts)
        mined = self.mined(knowledge)
        # The order of safe squares decides nothing, so they are opened at once.
        squares = [s for s, count in mined.items() if not count] or [self.best_square(knowledge)]
        seen: dict[Shown, list[int]] = {}
        for mines in layouts:
            if not mines >> squares[0] & 1:
                opened = knowledge.opened
                for square in squares:
                    opened = open_after(self._neighbours, mines, opened, square)
                board = shown(self._neighbours, mines, opened)
                seen.setdefault(Shown(opened, board), []).append(mines)
        return sum([self._won(after, same) for after, same in seen.items()])

    def _of(self, knowledge: Shown) -> Counts:
        found = self._counts.get(knowledge.board)
        if found is None:
            if len(self._counts) >= _KEPT:
                self._counts.clear()
            found = Layouts(self._neighbours, knowledge.board, self._mines).counts()
            self._counts[knowledge.board] = found
        return found


@lru_cache(maxsize=256)
def reference(opening: Opening) -> Reference:
    """Return the reference player of an opening."""
    return Reference(opening)


@lru_cache(maxsize=4096)
def success(opening: Opening) -> float:
    """Return the estimate of the reference player's chance of success, to nine digits."""
    return round(Reference(opening).success(), 9)

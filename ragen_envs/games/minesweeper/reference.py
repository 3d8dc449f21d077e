"""The reference player of boards that are too large for exact search: exact risks, no look-ahead.

It opens a safe square if there is one, else a square with the lowest risk of a mine. Ties go to the
square with the fewest neighbours, which shows a 0 most often, then to the first. A player that also
weighs the information of a square can do better, so its success rate is not an upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.minesweeper.counting import Counts, Layouts
from ragen_envs.games.minesweeper.player import Player
from ragen_envs.games.minesweeper.rules import Opening, open_after, show_board

ROLLOUTS = 64
"""Number of layouts from which the success rate of an opening is estimated."""
_KEPT = 64
"""Size of the cache of counts, which `info`, the oracle and the analysis use."""


class Shown(NamedTuple):
    """The knowledge: the symbols on the board.

    Attributes:
        opened: Open squares.
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

    def sample_layout(self, stream: RandomStream) -> int:
        """Sample a layout from those that the opening allows, all equally likely.

        The number of layouts n can exceed 2**64; probabilities are exact to within n / 2**128.
        """
        total = self.count(self.start)
        return self._layouts.layout((stream.word() << 64 | stream.word()) * total >> 128)

    def after(self, knowledge: Shown, board: str, opened: int) -> Shown:  # noqa: ARG002 (a Player's)
        """Return the knowledge after more squares are opened."""
        return Shown(opened, board)

    def count(self, knowledge: Shown) -> int:
        """Return the number of possible layouts."""
        return self._of(knowledge).total

    def count_mined(self, knowledge: Shown) -> dict[int, int]:
        """Return for each closed square, in order, the number of layouts with a mine on it."""
        return self._of(knowledge).mined

    def best_square(self, knowledge: Shown) -> int:
        """Return the closed square that the player opens."""
        mined, neighbours = self.count_mined(knowledge), self._neighbours
        return min(mined, key=lambda s: (mined[s], neighbours[s].bit_count(), s))

    def is_best(self, knowledge: Shown, square: int) -> bool:
        """Return whether no closed square has a lower chance of a mine."""
        mined = self.count_mined(knowledge)
        return mined[square] == min(mined.values())

    def success(self, rollouts: int = ROLLOUTS) -> float:
        """Return an estimate of the player's chance of success.

        It is the fraction of wins over `rollouts` layouts spread evenly over all that the opening
        allows, or over all layouts if there are fewer.
        """
        total = self.count(self.start)
        played = min(total, rollouts)
        layouts = [self._layouts.layout((2 * i + 1) * total // (2 * played)) for i in range(played)]
        return self._count_wins(self.start, layouts) / played

    def _count_wins(self, knowledge: Shown, layouts: Sequence[int]) -> int:
        """Return the number of wins over layouts that agree with the knowledge."""
        if knowledge.opened.bit_count() + self._mines == len(self._neighbours):
            return len(layouts)
        mined = self.count_mined(knowledge)
        # The order of safe squares does not matter, so they are opened at once.
        squares = [s for s, count in mined.items() if not count] or [self.best_square(knowledge)]
        seen: dict[Shown, list[int]] = {}
        for mines in layouts:
            if not mines >> squares[0] & 1:
                opened = knowledge.opened
                for square in squares:
                    opened = open_after(self._neighbours, mines, opened, square)
                board = show_board(self._neighbours, mines, opened)
                seen.setdefault(Shown(opened, board), []).append(mines)
        return sum([self._count_wins(after, same) for after, same in seen.items()])

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

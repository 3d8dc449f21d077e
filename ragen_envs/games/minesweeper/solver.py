"""The exact best player, by dynamic programming over states of knowledge.

All layouts that the open squares allow are equally likely. Let W(k) be the number of them that the
best play from the knowledge k wins. Then

    W(k) = max over closed squares s of the sum of W(k') over the possible results of opening s,

where k' keeps the layouts that give the result; those with a mine on s are lost. The chance of
success is W(k) over the number of layouts in k. All counts are ints, so rounding never chooses
between squares.

A square without a mine in any layout can be opened at once: it must be opened anyway, and its
digit does no harm. Turns are not a constraint, since the budget has one for each square to open.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.minesweeper.player import Player
from ragen_envs.games.minesweeper.rules import Opening, members, open_after, show_board


class Knowledge(NamedTuple):
    """The knowledge: the board and the layouts that it allows.

    Attributes:
        opened: Open squares.
        layouts: Possible sets of mines, in ascending order; all equally likely.
    """

    opened: int
    layouts: tuple[int, ...]


class Solver(Player[Knowledge]):
    """The best player on one opening. Use `solver`, which keeps the recent ones.

    Args:
        opening: The opening.
    """

    def __init__(self, opening: Opening) -> None:
        self._neighbours = opening.neighbours
        self._all = (1 << len(opening.neighbours)) - 1
        self.start = Knowledge(opening.opened, opening.layouts)
        # The knowledge follows from the open squares and one of the layouts that they allow.
        self._wins: dict[tuple[int, int], int] = {}
        self._after: dict[str, Knowledge] = {}
        self._mined: dict[tuple[int, int], dict[int, int]] = {}

    def sample_layout(self, stream: RandomStream) -> int:
        """Sample a layout from those that the opening allows, all equally likely."""
        layouts = self.start.layouts
        return layouts[stream.below(len(layouts))]

    def count(self, knowledge: Knowledge) -> int:
        """Return the number of possible layouts."""
        return len(knowledge.layouts)

    def chance(self, knowledge: Knowledge) -> float:
        """Return the best player's chance of success."""
        return self._count_wins(knowledge) / len(knowledge.layouts)

    def best_square(self, knowledge: Knowledge) -> int:
        """Return the closed square that wins most often.

        Ties go to the least risky square, then to the first.
        """
        mined = self.count_mined(knowledge)
        first = min(mined, key=lambda square: (mined[square], square))
        if not mined[first]:
            return first
        return min(mined, key=lambda s: (-self._count_wins_by(knowledge, s), mined[s], s))

    def is_best(self, knowledge: Knowledge, square: int) -> bool:
        """Return whether no closed square wins more often."""
        return self._count_wins_by(knowledge, square) == self._count_wins(knowledge)

    def chance_after(self, knowledge: Knowledge, square: int) -> float:
        """Return the chance of success of opening a closed square, with the best play after it."""
        return self._count_wins_by(knowledge, square) / len(knowledge.layouts)

    def count_mined(self, knowledge: Knowledge) -> dict[int, int]:
        """Return for each closed square the number of layouts with a mine on it."""
        key = knowledge.opened, knowledge.layouts[0]
        found = self._mined.get(key)
        if found is None:
            found = self._mined[key] = self._count_mined_squares(knowledge)
        return found

    def after(self, knowledge: Knowledge, board: str, opened: int) -> Knowledge:
        """Return the knowledge after more squares are opened.

        Args:
            knowledge: The knowledge before.
            board: Symbols of the squares now, as `rules.shown` returns them.
            opened: Squares that are open now.
        """
        known = self._after.get(board)
        if known is None:
            layouts = [
                mines
                for mines in knowledge.layouts
                if not mines & opened and show_board(self._neighbours, mines, opened) == board
            ]
            known = self._after[board] = Knowledge(opened, tuple(layouts))
        return known

    def _count_mined_squares(self, knowledge: Knowledge) -> dict[int, int]:
        closed = self._all & ~knowledge.opened
        return {
            square: sum([mines >> square & 1 for mines in knowledge.layouts])
            for square in members(closed)
        }

    def _count_wins(self, knowledge: Knowledge) -> int:
        """Return the number of layouts that the best play wins."""
        if len(knowledge.layouts) == 1:
            return 1
        key = knowledge.opened, knowledge.layouts[0]
        won = self._wins.get(key)
        if won is None:
            won = self._wins[key] = self._most_won(knowledge)
        return won

    def _most_won(self, knowledge: Knowledge) -> int:
        mined = self._count_mined_squares(knowledge)  # not kept: there are thousands
        total, best = len(knowledge.layouts), 0
        for square in sorted(mined, key=lambda s: mined[s]):
            if total - mined[square] <= best:  # only layouts without a mine there can be won
                break
            best = max(best, self._count_wins_by(knowledge, square))
            if not mined[square]:
                break
        return best

    def _count_wins_by(self, knowledge: Knowledge, square: int) -> int:
        """Return the number of wins of opening a square, with the best play after it."""
        neighbours, before = self._neighbours, knowledge.opened
        seen: dict[tuple[int, ...], tuple[int, list[int]]] = {}
        what: tuple[int, ...]
        for mines in knowledge.layouts:
            if mines >> square & 1:
                continue
            number = (neighbours[square] & mines).bit_count()
            if number:
                what, opened = (number,), before | 1 << square
            else:
                opened = open_after(neighbours, mines, before, square)
                fresh = members(opened & ~before)
                what = (opened, *[(neighbours[s] & mines).bit_count() for s in fresh])
            seen.setdefault(what, (opened, []))[1].append(mines)
        return sum(
            self._count_wins(Knowledge(opened, tuple(same))) for opened, same in seen.values()
        )


@lru_cache(maxsize=256)
def solver(opening: Opening) -> Solver:
    """Return the solver of an opening."""
    return Solver(opening)


@lru_cache(maxsize=4096)
def ceiling(opening: Opening) -> float:
    """Return the best player's chance of success, to nine digits."""
    best = Solver(opening)
    return round(best.chance(best.start), 9)

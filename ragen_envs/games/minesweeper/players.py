"""The players: the exact best one, and a reference player of large boards.

The best player comes from dynamic programming over states of knowledge.

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

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.minesweeper.counting import Counts, Layouts
from ragen_envs.games.minesweeper.rules import Opening, members, open_after, show_board, uncover

ROLLOUTS = 64
"""Number of layouts from which the success rate of an opening is estimated."""
_KEPT = 64
"""Size of the cache of counts, which `info`, the oracle and the analysis use."""


class Knowledge(NamedTuple):
    """The knowledge: the open squares, and the possible layouts in ascending order."""

    opened: int
    layouts: tuple[int, ...]


class Solver:
    """The exact best player on one opening. Use `solver`, which keeps the recent ones.

    `start` is the knowledge at the start. Equal knowledge compares equal.
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
        """Return the square that wins most often; ties go to the least risky, then to the first."""
        mined = self.count_mined(knowledge)
        first = min(mined, key=lambda square: (mined[square], square))
        if not mined[first]:
            return first
        return min(mined, key=lambda s: (-self._count_wins_by(knowledge, s), mined[s], s))

    def is_best(self, knowledge: Knowledge, square: int) -> bool:
        """Return whether the player rates no closed square higher."""
        return self._count_wins_by(knowledge, square) == self._count_wins(knowledge)

    def count_mined(self, knowledge: Knowledge) -> dict[int, int]:
        """Return for each closed square, in order, the number of layouts with a mine on it."""
        key = knowledge.opened, knowledge.layouts[0]
        found = self._mined.get(key)
        if found is None:
            found = self._mined[key] = self._count_mined_squares(knowledge)
        return found

    def after(self, knowledge: Knowledge, board: str, opened: int) -> Knowledge:
        """Return the knowledge with the symbols of the squares and those that are open now."""
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


class Shown(NamedTuple):
    """The knowledge: the open squares, and the symbols on the board, row by row."""

    opened: int
    board: str


class Reference:
    """The reference player of boards too large for exact search: exact risks, no look-ahead.

    It has the methods of `Solver`, with knowledge of its own.
    It opens a safe square if there is one, else a square with the lowest risk of a mine. Ties go to
    the square with the fewest neighbours, which shows a 0 most often, then to the first. A player
    that also weighs the information of a square can do better, so its success rate is not an upper
    bound. Use `reference`, which keeps the recent ones.
    """

    def __init__(self, opening: Opening) -> None:
        self._neighbours, self._mines = opening.neighbours, opening.mines
        self.start = Shown(opening.opened, opening.board.replace("\n", ""))
        self._layouts = Layouts(self._neighbours, self.start.board, self._mines)
        self._counts: dict[str, Counts] = {}

    def sample_layout(self, stream: RandomStream) -> int:
        # The number of layouts n can exceed 2**64; probabilities are exact to within n / 2**128.
        total = self.count(self.start)
        return self._layouts.layout((stream.word() << 64 | stream.word()) * total >> 128)

    def after(self, knowledge: Shown, board: str, opened: int) -> Shown:  # noqa: ARG002 (Solver's)
        return Shown(opened, board)

    def count(self, knowledge: Shown) -> int:
        return self._of(knowledge).total

    def count_mined(self, knowledge: Shown) -> dict[int, int]:
        return self._of(knowledge).mined

    def best_square(self, knowledge: Shown) -> int:
        mined, neighbours = self.count_mined(knowledge), self._neighbours
        return min(mined, key=lambda s: (mined[s], neighbours[s].bit_count(), s))

    def is_best(self, knowledge: Shown, square: int) -> bool:
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
                fresh = opened & ~knowledge.opened
                board = uncover(self._neighbours, mines, knowledge.board, fresh)
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

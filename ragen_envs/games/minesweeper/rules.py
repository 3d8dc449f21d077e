"""The rules of Minesweeper: boards, openings, and opening a square. Pure: no randomness.

Squares are numbered along the rows. A set of squares is an int whose bit i stands for square i.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

from ragen_envs.core.instances import content_hash, partition_of
from ragen_envs.core.symmetry import canonical_grid

GAME = "minesweeper"
CLOSED = "#"
_DIGITS = "012345678"


@lru_cache(maxsize=16)
def neighbours_of(height: int, width: int) -> tuple[int, ...]:
    """Return for each square the set of its up to eight neighbours."""
    squares = [(y, x) for y in range(height) for x in range(width)]
    return tuple(
        sum(1 << i for i, (v, u) in enumerate(squares) if max(abs(v - y), abs(u - x)) == 1)
        for y, x in squares
    )


def members(squares: int) -> Iterator[int]:
    """Yield the squares of a set in order."""
    while squares:
        lowest = squares & -squares
        yield lowest.bit_length() - 1
        squares ^= lowest


def open_after(neighbours: tuple[int, ...], mines: int, opened: int, square: int) -> int:
    """Return the open squares after a square without a mine is opened.

    A square without adjacent mines opens its neighbours, recursively.
    """
    opened |= 1 << square
    if neighbours[square] & mines:
        return opened
    waiting = [square]
    while waiting:
        fresh = neighbours[waiting.pop()] & ~opened
        opened |= fresh
        waiting += [other for other in members(fresh) if not neighbours[other] & mines]
    return opened


def show_board(neighbours: tuple[int, ...], mines: int, opened: int) -> str:
    """Return a board's squares along its rows: the digits of the open ones, the others closed."""
    return uncover(neighbours, mines, CLOSED * len(neighbours), opened)


def uncover(neighbours: tuple[int, ...], mines: int, board: str, fresh: int) -> str:
    """Return a board, row by row without line ends, after the fresh squares are opened."""
    symbols = list(board)
    for square in members(fresh):
        symbols[square] = _DIGITS[(neighbours[square] & mines).bit_count()]
    return "".join(symbols)


@dataclass(frozen=True)
class Opening:
    """An instance: some open squares, and the number of mines in closed ones.

    The rows of the board are joined by line ends; a digit is an open square, # a closed one.
    """

    board: str
    mines: int
    ceiling: float | None = None  # success probability of the best player, if it is known

    @cached_property
    def height(self) -> int:
        return self.board.count("\n") + 1

    @cached_property
    def width(self) -> int:
        return len(self.board.partition("\n")[0])

    @cached_property
    def neighbours(self) -> tuple[int, ...]:
        return neighbours_of(self.height, self.width)

    @cached_property
    def opened(self) -> int:
        squares = self.board.replace("\n", "")
        return sum(1 << i for i, symbol in enumerate(squares) if symbol != CLOSED)

    @cached_property
    def layouts(self) -> tuple[int, ...]:
        """All sets of mines that the opening allows, in ascending order."""
        return tuple(sorted(layouts_of(self)))

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for rotations and reflections."""
        return content_hash(GAME, b"%d mines %s" % (self.mines, canonical_grid(self.board)))

    @property
    def part(self) -> str:
        return partition_of(self.digest, sixteenths=3)


def layouts_of(opening: Opening) -> Iterator[int]:
    """Yield the layouts that agree with the opening's digits and its number of mines."""
    squares = opening.board.replace("\n", "")
    settled = opening.opened
    partial = [0]
    for around, symbol in zip(opening.neighbours, squares, strict=True):
        if symbol == CLOSED:
            continue
        digit = int(symbol)
        fresh = list(members(around & ~settled))
        settled |= around
        partial = [
            mines | more
            for mines in partial
            for more in subsets(fresh, digit - (mines & around).bit_count())
            if (mines | more).bit_count() <= opening.mines
        ]
    rest = list(members((1 << len(squares)) - 1 & ~settled))
    for mines in partial:
        for more in subsets(rest, opening.mines - mines.bit_count()):
            yield mines | more


def subsets(squares: list[int], size: int) -> Iterator[int]:
    """Yield the sets of `size` of the squares."""
    if size >= 0:
        for chosen in combinations(squares, size):
            yield sum(1 << square for square in chosen)

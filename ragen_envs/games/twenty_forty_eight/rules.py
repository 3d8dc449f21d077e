"""The rules of 2048: boards, moves, new tiles, openings. Pure: no randomness.

A board is an int with three bits per square, along the rows: 0 for an empty square, and n for the
tile 2**n. Tiles go up to 128.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

from ragen_envs.core.instances import content_hash, partition_of
from ragen_envs.core.symmetry import canonical_grid

GAME = "twenty-forty-eight"
ACTIONS = ("Up", "Right", "Down", "Left")
UP, RIGHT, DOWN, LEFT = range(len(ACTIONS))
BITS = 3
"""Number of bits of a square."""
LARGEST = (1 << BITS) - 1
"""Number of the largest tile, 128."""
TWOS = 9
"""How often a new tile is a 2, in `NEW` times."""
NEW = 10
_WORD = 64
"""Bits of a random word."""


def pack(numbers: Iterable[int]) -> int:
    """Return the board, or row, of tile numbers."""
    return sum(number << BITS * place for place, number in enumerate(numbers))


def unpack(board: int, squares: int) -> list[int]:
    """Return the tile numbers of a board or row."""
    return [board >> shift & LARGEST for shift in range(0, BITS * squares, BITS)]


def sum_tiles(board: int, squares: int) -> int:
    """Return the sum of a board's tiles."""
    return sum([1 << number for number in unpack(board, squares) if number])


def slide(numbers: Iterable[int]) -> list[int]:
    """Return a row after its tiles slid to the first place; equal neighbours merge, once each.

    Two of the largest tiles do not merge.
    """
    row = list(numbers)
    slid: list[int] = []
    may_merge = False
    for number in filter(None, row):
        if may_merge and slid[-1] == number < LARGEST:
            slid[-1] += 1
            may_merge = False
        else:
            slid.append(number)
            may_merge = True
    return slid + [0] * (len(row) - len(slid))


class Rows:
    """All rows of a board's size, with what moves need. Use `rows_of`, which keeps them.

    `left` and `right` have each row after a slide, `spread` each row as the first column of a
    board, and `largest` its largest tile number. `shifts` are the places of the rows in a board.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.mask = (1 << BITS * size) - 1
        self.shifts = tuple(BITS * size * y for y in range(size))
        self.left, self.right, self.spread, self.largest = ([0] * (self.mask + 1) for _ in range(4))
        for numbers in product(range(LARGEST + 1), repeat=size):
            row = pack(numbers)
            self.left[row] = pack(slide(numbers))
            self.right[row] = pack(slide(numbers[::-1])[::-1])
            self.spread[row] = sum(n << s for n, s in zip(numbers, self.shifts, strict=True))
            self.largest[row] = max(numbers)

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles name the size: the tables are the same in any process."""
        return rows_of, (self.size,)

    def transpose(self, board: int) -> int:
        """Return the board with rows and columns exchanged."""
        spread, mask = self.spread, self.mask
        turned = 0
        for place, shift in enumerate(self.shifts):
            turned |= spread[board >> shift & mask] << BITS * place
        return turned

    def move(self, board: int, action: int) -> int:
        """Return the board after a move, before the new tile."""
        mask, slid = self.mask, self.left if action in (UP, LEFT) else self.right
        is_upright = action in (UP, DOWN)
        if is_upright:
            board = self.transpose(board)
        moved = 0
        for shift in self.shifts:
            moved |= slid[board >> shift & mask] << shift
        return self.transpose(moved) if is_upright else moved

    def is_stuck(self, board: int) -> bool:
        """Return whether no move changes a board."""
        if 0 in unpack(board, self.size**2):
            return False
        return all(self.move(board, action) == board for action in (DOWN, RIGHT))

    def find_largest(self, board: int) -> int:
        """Return the largest tile number of a board."""
        return max([self.largest[board >> shift & self.mask] for shift in self.shifts])

    def add_tile(self, board: int, word: int) -> int:
        """Return the board with a new tile; one random word decides its square and its number."""
        numbers = unpack(board, self.size**2)
        place, kind = divmod(word * numbers.count(0) * NEW >> _WORD, NEW)
        empty = [square for square, number in enumerate(numbers) if not number]
        return board | (1 if kind < TWOS else 2) << BITS * empty[place]


@cache
def rows_of(size: int) -> Rows:
    """Return the rows of boards of a size."""
    return Rows(size)


@dataclass(frozen=True)
class Opening:
    """An instance: the board at the start."""

    size: int
    board: int

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for rotations and reflections."""
        numbers = "".join(map(str, unpack(self.board, self.size**2)))
        rows = [numbers[i : i + self.size] for i in range(0, len(numbers), self.size)]
        return content_hash(GAME, canonical_grid("\n".join(rows)))

    @property
    def part(self) -> str:
        # There are some thousand small openings, so three sixteenths are held out in each split.
        return partition_of(self.digest, sixteenths=3)

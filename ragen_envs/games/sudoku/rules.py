"""The rules of Sudoku: grids, their symmetries, and puzzles. Pure: no randomness.

Cells are numbered along the rows. Grids are strings of one character per cell: a digit, or "." for
an empty cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, permutations, product
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from ragen_envs.core.instances import content_hash, partition_of

GAME = "sudoku"
EMPTY = "."
DIGITS = "123456"
BOXES = {4: (2, 2), 6: (2, 3)}
"""Rows and columns of a box, by the number of rows of the grid."""


@lru_cache(maxsize=2)
def find_peers(size: int) -> tuple[int, ...]:
    """Return for each cell the other cells of its row, column and box, as a set of bits."""
    height, width = BOXES[size]
    cells = list(product(range(size), repeat=2))
    return tuple(
        sum(
            1 << i
            for i, (v, u) in enumerate(cells)
            if (v, u) != (y, x)
            and (v == y or u == x or (v // height, u // width) == (y // height, x // width))
        )
        for y, x in cells
    )


def replace_digit(grid: str, cell: int, digit: str) -> str:
    """Return a grid with another digit in a cell, or with `EMPTY`."""
    return grid[:cell] + digit + grid[cell + 1 :]


def repeats_digit(grid: str, cell: int) -> bool:
    """Return whether the row, column or box of a filled cell has its digit a second time."""
    peers = find_peers(_side(grid))[cell]
    return any(digit == grid[cell] and peers >> other & 1 for other, digit in enumerate(grid))


def _side(grid: str) -> int:
    return isqrt(len(grid))


def canonical_form(grid: str) -> bytes:
    """Return a form that is equal for all symmetric images of a grid.

    The symmetries are the names of the digits, the order of bands and of the lines in a band, in
    both directions, and in grids with square boxes the reflection. The form is the smallest image
    whose digits are numbered by first appearance.
    """
    size = _side(grid)
    places = _places(size)
    digits = np.array([0 if c == EMPTY else int(c) for c in grid])
    numbers = np.zeros((places.shape[1], size + 1), dtype=np.intp)
    numbers[:, 0] = size + 1
    flat, used = numbers.reshape(-1), np.zeros(len(numbers), dtype=np.intp)
    left = np.arange(len(numbers))  # the images with the smallest beginning
    form = bytearray()
    for place in places:
        index = digits[place[left]] + left * (size + 1)
        number = flat[index]
        is_new = number == 0
        if is_new.any():
            used[left] += is_new
            number = np.where(is_new, used[left], number)
            flat[index] = number
        form.append(number.min())
        left = left[number == form[-1]]
    return bytes(form)


@lru_cache(maxsize=2)
def _places(size: int) -> NDArray[np.intp]:
    """Return for each place the cell that comes to it, in each symmetry of the lines."""
    height, width = BOXES[size]
    index = np.arange(size * size).reshape(size, size)
    images = [
        index[np.ix_(rows, columns)]
        for rows in _orders(size, height)
        for columns in _orders(size, width)
    ]
    if height == width:
        images += [image.T for image in images]
    return np.array([image.ravel() for image in images]).T.copy()


def _orders(size: int, band: int) -> list[tuple[int, ...]]:
    """Return the orders of lines that keep the bands of `band` lines together."""
    bands: list[Sequence[int]] = [range(i, i + band) for i in range(0, size, band)]
    return [
        tuple(chain(*lines))
        for order in permutations(bands)
        for lines in product(*map(permutations, order))
    ]


@dataclass(frozen=True)
class Puzzle:
    """An instance: the givens, which allow exactly one solution."""

    givens: str
    solution: str

    @cached_property
    def size(self) -> int:
        """Number of rows, of columns and of digits."""
        return _side(self.givens)

    @property
    def empty(self) -> int:
        """Number of cells to fill."""
        return self.givens.count(EMPTY)

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for all symmetric images."""
        return content_hash(GAME, canonical_form(self.givens))

    @cached_property
    def part(self) -> str:
        """The part of the solution; grids of 4x4 have two different ones, so it is the givens'."""
        if self.size == 4:
            return partition_of(self.digest, sixteenths=3)
        return partition_of(content_hash(GAME, canonical_form(self.solution)), sixteenths=3)

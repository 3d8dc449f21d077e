"""Canonical forms of grids under the eight symmetries of the square, and translations."""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter
from typing import Any


def canonical_grid(grid: str) -> bytes:
    """Return a form that is equal for all rotations and reflections of a grid.

    It is the lexicographically smallest image in ASCII, after its height and width.
    """
    sides = grid.count("\n") + 1, len(grid.partition("\n")[0])
    return f"{max(sides)}x{min(sides)}:{''.join(min(_images(grid)))}".encode()


def images(grid: str) -> list[str]:
    """Return the images of a grid with its shape, row by row: 8 of a square, else 4."""
    return ["".join(image) for image in _images(grid)]


def _images(grid: str) -> list[tuple[str, ...]]:
    height, width = grid.count("\n") + 1, len(grid.partition("\n")[0])
    cells = grid.replace("\n", "")
    # For a rectangle, only images of one orientation can be the smallest.
    found = [image(cells) for image in _getters(height, width, height < width)]
    return found + [image[::-1] for image in found]


def crop(rows: list[str], blank: str) -> list[str]:
    """Return a grid without its outer rows and columns that contain only the blank symbol."""
    filled = [i for i, row in enumerate(rows) if row.strip(blank)]
    if not filled:
        return [blank]
    rows = rows[filled[0] : filled[-1] + 1]
    left = len(rows[0]) - max([len(row.lstrip(blank)) for row in rows])
    right = max([len(row.rstrip(blank)) for row in rows])
    return [row[left:right] for row in rows]


@lru_cache(maxsize=256)
def _getters(height: int, width: int, transpose: bool) -> tuple[itemgetter[Any], ...]:
    """Return getters for the images of a grid: 4 for a square, else the 2 of one orientation.

    The other images are these reversed, since that is a half turn.
    """
    index = [[y * width + x for x in range(width)] for y in range(height)]
    transposed = [list(column) for column in zip(*index, strict=True)]
    bases = [index, transposed] if height == width else [transposed if transpose else index]
    return tuple(
        itemgetter(*(i for row in image for i in row))
        for base in bases
        for image in (base, base[::-1])
    )

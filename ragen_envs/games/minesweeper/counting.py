"""Counts of the layouts of mines that a board allows, in total and per square, and their ranking.

The closed squares that touch a digit fall into `components` that no digit connects. Components
constrain each other only through the total number of mines. The other mines lie anywhere in the
squares that no digit touches. All counts are ints, hence exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

from ragen_envs.games.minesweeper.components import (
    component,
    fill_boxes,
    group_clues,
    settle_clues,
    subset,
)
from ragen_envs.games.minesweeper.rules import CLOSED, members


class Counts(NamedTuple):
    """The layouts that a board allows.

    Attributes:
        total: Number of layouts of mines.
        mined: Number of layouts with a mine, for each closed square in ascending order.
    """

    total: int
    mined: dict[int, int]


class Layouts:
    """The layouts of mines that a board allows.

    Args:
        neighbours: Neighbours of each square, as `rules.neighbours_of` returns them.
        shown: Symbols of the squares, row by row, as `rules.shown` returns them.
        mines: Number of mines.
    """

    def __init__(self, neighbours: tuple[int, ...], shown: str, mines: int) -> None:
        closed = sum([1 << i for i, symbol in enumerate(shown) if symbol == CLOSED])
        clues = [
            (around, int(symbol))
            for around, symbol in zip(neighbours, shown, strict=True)
            if symbol != CLOSED and around & closed
        ]
        self._closed = closed
        self._sure, safe, clues = settle_clues(closed, clues)
        self._connected = group_clues(clues)
        self._components = [component(clues) for clues in self._connected]
        touched = sum([box for part in self._components for box in part.boxes])
        self._rest = closed & ~(self._sure | safe | touched)
        self._left = mines - self._sure.bit_count()

    def counts(self) -> Counts:
        """Return the number of layouts, and for each closed square the number with a mine on it."""
        parts, rest, left = self._components, self._rest.bit_count(), self._left
        every = _product([part.ways for part in parts])
        total = _dot_product(every, [comb(rest, left - m) for m in _up_to(left, every)])
        mined = dict.fromkeys(members(self._closed), 0)
        mined.update(dict.fromkeys(members(self._sure), total))
        if rest:
            of_one = _dot_product(
                every, [comb(rest - 1, left - m - 1) for m in _up_to(left - 1, every)]
            )
            mined.update(dict.fromkeys(members(self._rest), of_one))
        for number, part in enumerate(parts):
            others = _product([p.ways for i, p in enumerate(parts) if i != number])
            weights = [
                _dot_product(others, [comb(rest, left - m - n) for n in _up_to(left - m, others)])
                for m in _up_to(left, part.ways)
            ]
            for box, of_box in zip(part.boxes, part.mined, strict=True):
                # Squares of a box are equivalent, so each has an equal fraction.
                of_one = _dot_product(of_box, weights) // box.bit_count()
                mined.update(dict.fromkeys(members(box), of_one))
        return Counts(total, mined)

    def layout(self, rank: int) -> int:
        """Return the layout of a rank from 0 to `total` - 1."""
        mines, left, parts = self._sure, self._left, self._components
        rest = self._rest.bit_count()
        for number, part in enumerate(parts):
            others = _product([p.ways for p in parts[number + 1 :]])
            for m in _up_to(left, part.ways):
                after = _dot_product(
                    others, [comb(rest, left - m - n) for n in _up_to(left - m, others)]
                )
                if rank < part.ways[m] * after:
                    break
                rank -= part.ways[m] * after
            within, rank = divmod(rank, after)
            mines |= fill_boxes(self._connected[number], part.boxes, m, within)
            left -= m
        return mines | subset(list(members(self._rest)), left, rank)


def _product(polynomials: Sequence[Sequence[int]]) -> list[int]:
    product = [1]
    for polynomial in polynomials:
        longer = [0] * (len(product) + len(polynomial) - 1)
        for i, a in enumerate(product):
            for j, b in enumerate(polynomial):
                longer[i + j] += a * b
        product = longer
    return product


def _up_to(most: int, polynomial: Sequence[int]) -> range:
    """Return the powers of a polynomial, up to `most`."""
    return range(min(most + 1, len(polynomial)))


def _dot_product(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the dot product, up to the end of the shorter sequence."""
    return sum([a * b for a, b in zip(one, other)])  # noqa: B905 (the shorter one ends it)

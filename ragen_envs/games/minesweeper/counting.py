"""How many layouts of mines a board allows, in how many each square has one, and each by its rank.

The closed squares that touch a digit fall into `components` that no digit connects: what one holds
says nothing of another but through the number of mines. The rest of the mines lies anywhere in the
squares that no digit touches. All counts are ints, so exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

from ragen_envs.games.minesweeper.components import component, connected, filled, settled, subset
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
        self._sure, safe, clues = settled(closed, clues)
        self._connected = connected(clues)
        self._components = [component(clues) for clues in self._connected]
        touched = sum([box for part in self._components for box in part.boxes])
        self._rest = closed & ~(self._sure | safe | touched)
        self._left = mines - self._sure.bit_count()

    def counts(self) -> Counts:
        """Return how many layouts there are, and in how many each closed square has a mine."""
        parts, rest, left = self._components, self._rest.bit_count(), self._left
        every = _product([part.ways for part in parts])
        total = _paired(every, [comb(rest, left - m) for m in _up_to(left, every)])
        mined = dict.fromkeys(members(self._closed), 0)
        mined.update(dict.fromkeys(members(self._sure), total))
        if rest:
            of_one = _paired(every, [comb(rest - 1, left - m - 1) for m in _up_to(left - 1, every)])
            mined.update(dict.fromkeys(members(self._rest), of_one))
        for number, part in enumerate(parts):
            others = _product([p.ways for i, p in enumerate(parts) if i != number])
            weights = [
                _paired(others, [comb(rest, left - m - n) for n in _up_to(left - m, others)])
                for m in _up_to(left, part.ways)
            ]
            for box, of_box in zip(part.boxes, part.mined, strict=True):
                # Squares of a box are alike, so each has its share.
                of_one = _paired(of_box, weights) // box.bit_count()
                mined.update(dict.fromkeys(members(box), of_one))
        return Counts(total, mined)

    def layout(self, rank: int) -> int:
        """Return one of the layouts; each of the ranks from 0 to below `total` gives another."""
        mines, left, parts = self._sure, self._left, self._components
        rest = self._rest.bit_count()
        for number, part in enumerate(parts):
            others = _product([p.ways for p in parts[number + 1 :]])
            for m in _up_to(left, part.ways):
                after = _paired(
                    others, [comb(rest, left - m - n) for n in _up_to(left - m, others)]
                )
                if rank < part.ways[m] * after:
                    break
                rank -= part.ways[m] * after
            within, rank = divmod(rank, after)
            mines |= filled(self._connected[number], part.boxes, m, within)
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
    """Return the numbers of mines that a polynomial has, up to the most that there can be."""
    return range(min(most + 1, len(polynomial)))


def _paired(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the sum of the products of numbers in the same place, as far as both go."""
    return sum([a * b for a, b in zip(one, other)])  # noqa: B905 (as far as both go)

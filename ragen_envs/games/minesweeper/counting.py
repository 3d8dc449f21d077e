"""Counts of the layouts of mines that a board allows, in total and per square, and their ranking.

The closed squares that touch a digit fall into components that no digit connects. Components
constrain each other only through the total number of mines. The other mines lie anywhere in the
squares that no digit touches. All counts are ints, hence exact.

Squares of a component that touch the same digits are equivalent and form a box. Boxes are filled
one by one. Partial fillings that leave the same remainder of every digit are counted together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb
from typing import NamedTuple

from ragen_envs.games.minesweeper.rules import CLOSED, members

Clue = tuple[int, int]
"""A set of squares, and the number of mines in it."""
_DIGIT = 4
"""Bits for the remainder of a digit, which is at most 8."""


class Component(NamedTuple):
    """Squares that digits connect, and the ways to fill them."""

    boxes: tuple[int, ...]  # disjoint sets of squares
    ways: tuple[int, ...]  # number of layouts, by the number of mines
    mined: tuple[tuple[int, ...], ...]  # for each box, its mines summed over these layouts


def settle_clues(closed: int, clues: list[Clue]) -> tuple[int, int, list[Clue]]:
    """Return the mines and safe squares that single digits imply, and the remaining clues."""
    sure = safe = 0
    while True:
        left: dict[int, int] = {}
        before = sure | safe
        for around, digit in clues:
            undecided = around & closed & ~(sure | safe)
            digit -= (around & sure).bit_count()
            if not digit:
                safe |= undecided
            elif digit == undecided.bit_count():
                sure |= undecided
            else:
                left[undecided] = digit
        clues = list(left.items())
        if sure | safe == before:
            return sure, safe, clues


def group_clues(clues: list[Clue]) -> list[tuple[Clue, ...]]:
    """Return the clues of each component."""
    found: list[tuple[int, tuple[Clue, ...]]] = []
    for clue in clues:
        squares = clue[0]
        together: tuple[Clue, ...] = (clue,)
        for each in [each for each in found if each[0] & squares]:
            found.remove(each)
            squares |= each[0]
            together = each[1] + together
        found.append((squares, together))
    return [together for _, together in found]


@lru_cache(maxsize=4096)
def component(clues: tuple[Clue, ...]) -> Component:
    """Return the ways to fill the squares that clues connect."""
    boxes = _boxes(clues)
    squares = sum(boxes).bit_count()
    bits, width = _packing(squares)
    (packed,) = _layers(clues, boxes)[-1].values()
    rows = [
        tuple([packed >> slot * width + m * bits & (1 << bits) - 1 for m in range(squares + 1)])
        for slot in range(len(boxes) + 1)
    ]
    return Component(boxes, rows[0], tuple(rows[1:]))


def _boxes(clues: tuple[Clue, ...]) -> tuple[int, ...]:
    boxes = [0]
    for around, _ in clues:
        fresh = around
        for box in boxes:
            fresh &= ~box
        parts = [part for box in boxes for part in (box & around, box & ~around)]
        boxes = [part for part in (*parts, fresh) if part]
    return tuple(boxes)


def _packing(squares: int) -> tuple[int, int]:
    """Return the bits of a count, and of the counts of a polynomial by the number of mines."""
    bits = squares + 8  # a count is at most 2**squares, and mines of a box in them 64 times that
    return bits, bits * (squares + 1)


def _layers(clues: tuple[Clue, ...], boxes: tuple[int, ...]) -> list[dict[int, int]]:
    """Return for the first 0, 1, ... boxes each remainder of the clues, with the ways to reach it.

    A remainder is one int of `_DIGIT` bits per clue. The ways are one int too, which packs
    polynomials in the number of mines: the first counts the ways, and one per box counts its mines.
    So a single addition of ints adds all of them.
    """
    bits, width = _packing(sum(boxes).bit_count())
    layers = [{sum([digit << _DIGIT * i for i, (_, digit) in enumerate(clues)]): 1}]
    later = sum(boxes)
    for number, box in enumerate(boxes, 1):
        later &= ~box
        touching = [
            (_DIGIT * i, (around & later).bit_count())
            for i, (around, _) in enumerate(clues)
            if around & box
        ]
        each = sum([1 << place for place, _ in touching])
        size = box.bit_count()
        layer: dict[int, int] = {}
        for state, ways in layers[-1].items():
            least, most = 0, size
            for place, room in touching:
                left = state >> place & 15
                most = min(most, left)
                least = max(least, left - room)
            for mines in range(least, most + 1):
                more = ways
                if mines:
                    more += mines * (ways & (1 << width) - 1) << number * width
                    more = comb(size, mines) * more << mines * bits
                after = state - mines * each
                layer[after] = layer.get(after, 0) + more
        layers.append(layer)
    return layers


def fill_boxes(clues: tuple[Clue, ...], boxes: tuple[int, ...], mines: int, rank: int) -> int:
    """Return the mines of a component in the way of this rank among those with `mines` mines."""
    bits, _ = _packing(sum(boxes).bit_count())
    layers, state, chosen = _layers(clues, boxes), 0, 0
    for box, layer in zip(reversed(boxes), reversed(layers[:-1]), strict=True):
        each = sum([1 << _DIGIT * i for i, (around, _) in enumerate(clues) if around & box])
        size = box.bit_count()
        for here in range(min(size, mines) + 1):
            before = state + here * each
            ways = layer.get(before, 0) >> (mines - here) * bits & (1 << bits) - 1
            within = comb(size, here) * ways
            if rank < within:
                break
            rank -= within
        which, rank = divmod(rank, ways)
        chosen |= subset(list(members(box)), here, which)
        state, mines = before, mines - here
    return chosen


def subset(squares: Sequence[int], size: int, rank: int) -> int:
    """Return the set of this rank among the sets of `size` of the squares."""
    chosen = 0
    for i, square in enumerate(squares):
        without = comb(len(squares) - i - 1, size)
        if rank >= without:
            rank -= without
            size -= 1
            chosen |= 1 << square
    return chosen


class Counts(NamedTuple):
    """The number of layouts that a board allows."""

    total: int
    mined: dict[int, int]  # layouts with a mine, for each closed square in ascending order


class Layouts:
    """The layouts of mines that a board allows, of which `shown` has the symbols, row by row."""

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

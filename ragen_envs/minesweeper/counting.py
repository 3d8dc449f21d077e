"""How many layouts of mines a board allows, in how many each square has one, and each by its rank.

The closed squares that touch a digit fall into components that no digit connects: what one holds
says nothing of another but through the number of mines. In a component, squares that touch the same
digits are alike and form a box; to say how many mines each box has is to say nearly all. Boxes are
taken one by one, and ways to fill them that leave the same of every digit are added up. The rest of
the mines lies anywhere in the squares that no digit touches. All counts are ints, so exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb
from typing import NamedTuple

from ragen_envs.minesweeper.rules import CLOSED, members

Clue = tuple[int, int]
"""Squares, and how many of them have a mine."""
_DIGIT = 4
"""Bits that hold what is left of a digit, which is at most 8."""


class Component(NamedTuple):
    """Squares that digits connect, and how they can be filled.

    Attributes:
        boxes: sets of squares, apart from each other.
        ways: by the number of mines, in how many ways the squares hold so many.
        mined: for each box, by the number of mines in all, how many mines the box has in those ways
            together.
    """

    boxes: tuple[int, ...]
    ways: tuple[int, ...]
    mined: tuple[tuple[int, ...], ...]


class Counts(NamedTuple):
    """What a board allows.

    Attributes:
        total: how many layouts of mines.
        mined: for each closed square, in how many of them it has a mine; in ascending order.
    """

    total: int
    mined: dict[int, int]


class Layouts:
    """The layouts of mines that a board allows.

    Args:
        neighbours: of each square, as `rules.neighbours_of` says.
        shown: what the squares show, along the rows, as `rules.shown` says.
        mines: how many there are.
    """

    def __init__(self, neighbours: tuple[int, ...], shown: str, mines: int) -> None:
        closed = sum([1 << i for i, symbol in enumerate(shown) if symbol == CLOSED])
        clues = [
            (around, int(symbol))
            for around, symbol in zip(neighbours, shown, strict=True)
            if symbol != CLOSED and around & closed
        ]
        self._closed = closed
        self._sure, safe, clues = _settled(closed, clues)
        self._connected = _connected(clues)
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
            mines |= _filled(self._connected[number], part.boxes, m, within)
            left -= m
        return mines | _subset(list(members(self._rest)), left, rank)


def _settled(closed: int, clues: list[Clue]) -> tuple[int, int, list[Clue]]:
    """Return the mines and the safe squares by single digits, and what is left of the clues."""
    sure = safe = 0
    while True:
        left: dict[int, int] = {}
        before = sure | safe
        for around, digit in clues:
            open_question = around & closed & ~(sure | safe)
            digit -= (around & sure).bit_count()
            if not digit:
                safe |= open_question
            elif digit == open_question.bit_count():
                sure |= open_question
            else:
                left[open_question] = digit
        if sure | safe == before:
            return sure, safe, list(left.items())


def _connected(clues: list[Clue]) -> list[tuple[Clue, ...]]:
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
    """Return how squares that clues connect can be filled."""
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
    """Return for the first 0, 1, ... boxes what they leave of the clues, with the ways to do so.

    What is left of all clues is one int, `_DIGIT` bits each. The ways are one int too, of
    polynomials in the number of mines: the first counts them, and the next ones the mines of each
    box in them. So one sum of ints adds all of them up.
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


def _filled(clues: tuple[Clue, ...], boxes: tuple[int, ...], mines: int, rank: int) -> int:
    """Return the mines of a component in one of the ways that have so many."""
    bits, _ = _packing(sum(boxes).bit_count())
    layers, state, filled = _layers(clues, boxes), 0, 0
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
        chosen, rank = divmod(rank, ways)
        filled |= _subset(list(members(box)), here, chosen)
        state, mines = before, mines - here
    return filled


def _subset(squares: Sequence[int], size: int, rank: int) -> int:
    """Return one of the sets of so many of the squares; each rank gives another."""
    chosen = 0
    for i, square in enumerate(squares):
        without = comb(len(squares) - i - 1, size)
        if rank >= without:
            rank -= without
            size -= 1
            chosen |= 1 << square
    return chosen


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

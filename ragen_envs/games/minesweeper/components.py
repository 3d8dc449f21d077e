"""Components of Minesweeper: closed squares that digits connect, and the ways to fill them.

Squares of a component that touch the same digits are equivalent and form a box. Boxes are filled
one by one. Partial fillings that leave the same remainder of every digit are counted together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb
from typing import NamedTuple

from ragen_envs.games.minesweeper.rules import members

Clue = tuple[int, int]
"""A set of squares, and the number of mines in it."""
_DIGIT = 4
"""Bits for the remainder of a digit, which is at most 8."""


class Component(NamedTuple):
    """Squares that digits connect, and the ways to fill them.

    Attributes:
        boxes: Disjoint sets of squares.
        ways: Number of layouts, by the number of mines.
        mined: For each box, its mines summed over these layouts, by the number of mines.
    """

    boxes: tuple[int, ...]
    ways: tuple[int, ...]
    mined: tuple[tuple[int, ...], ...]


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

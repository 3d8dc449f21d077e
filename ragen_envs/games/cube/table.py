"""The table of all 3,674,160 positions: the distance of each to the solved cube, and its part.

One corner stays where it is. The seven others stand in one of 7! = 5,040 orders and are twisted in
one of 3^6 = 729 ways, since the twist of the last follows. The number of a position is
729 * order + twists; a move changes each of the two without regard to the other.

Parts are dealt at distance 4. Up to rotation and reflection there are 68 positions. They are
ordered by the number of their images, then by a hash, and dealt in turn to val, test, sealed and
train. A position farther away belongs to a part if all its shortest solutions pass through
positions of that part, and to no part otherwise. So shortest solutions of different parts share no
state until three moves are left. The 26 positions within three moves belong to train.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations, product
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ragen_envs.games.cube.rules import FACES, MOVES, content_hash_of, images, normal_form

Numbers = NDArray[np.int32]
ORDERS, TWISTS = 5_040, 729
POSITIONS = ORDERS * TWISTS
SOLVED = 0
_CORNERS = (
    *((3, 4, 9), (2, 8, 17), (0, 16, 21), (1, 20, 5)),
    *((13, 11, 6), (12, 19, 10), (15, 7, 22)),
)
"""The stickers of the seven corners, clockwise from the one on Up or Down."""
_FORM = "".join(4 * face for face in FACES)
_READ = {
    "".join(_FORM[corner[(i - twist) % 3]] for i in range(3)): (piece, twist)
    for piece, corner in enumerate(_CORNERS)
    for twist in range(3)
}
"""From the three letters of a corner to the piece that stands there, and how it is twisted."""
_WRITTEN = {which: letters for letters, which in _READ.items()}
_WEIGHTS = (1, 3, 9, 27, 81, 243)
LONGEST = 11
"""Maximum distance from the solved cube."""
DEALT = 4
"""The distance at which positions are dealt to the parts."""
_PARTS = ("val", "test", "sealed", "train")
_UNKNOWN = 15
_BITS = 4
"""Bits of an entry for the distance; the higher bits are the parts that solutions lead through."""
_DISTANCE = (1 << _BITS) - 1


class Positions:
    """The positions by their numbers. Use `positions`, which makes it once a process.

    `moves` has the order and the twists after each move, two arrays of shapes (5040,) and (729,).
    """

    def __init__(self) -> None:
        self._orders = list(permutations(range(7)))
        self._order_numbers = {order: number for number, order in enumerate(self._orders)}
        twists = np.array(list(product(range(3), repeat=6)))[:, ::-1]
        self._twists = np.column_stack([twists, -twists.sum(axis=1) % 3])
        self.moves = tuple(self._move_tables(i) for i in range(len(MOVES)))
        # Views of plain ints: indexing them is several times as fast as indexing arrays.
        self._steps = [(orders.data, twists.data) for orders, twists in self.moves]

    def number(self, stickers: str) -> int:
        """Return the number of a cube as it is held; which colour is which does not matter."""
        form = normal_form(stickers)
        pieces = [_READ[form[a] + form[b] + form[c]] for a, b, c in _CORNERS]
        order = self._order_numbers[tuple([piece for piece, _ in pieces])]
        return TWISTS * order + sum(
            [weight * twist for weight, (_, twist) in zip(_WEIGHTS, pieces, strict=False)]
        )

    def stickers(self, number: int) -> str:
        """Return the normal form of the cube of a number."""
        order, twists = divmod(number, TWISTS)
        form = list(_FORM)
        for corner, *which in zip(
            _CORNERS, self._orders[order], self._twists[twists].tolist(), strict=True
        ):
            for place, letter in zip(corner, _WRITTEN[which[0], which[1]], strict=True):
                form[place] = letter
        return "".join(form)

    def after(self, number: int) -> list[int]:
        """Return the numbers of the positions that the moves lead to, in their order."""
        order, twists = divmod(number, TWISTS)
        return [TWISTS * orders[order] + turned[twists] for orders, turned in self._steps]

    def _move_tables(self, move: int) -> tuple[Numbers, Numbers]:
        """Return the orders and twists after a move, derived from its effect on a solved cube."""
        form = "".join(MOVES[move](_FORM))
        pieces = [_READ[form[a] + form[b] + form[c]] for a, b, c in _CORNERS]
        source = [piece for piece, _ in pieces]
        digits = 7 ** np.arange(7)[::-1]
        orders = np.array(self._orders)
        keys = orders @ digits  # they rise, as permutations come in lexicographic order
        twists = (self._twists[:, source] + [twist for _, twist in pieces]) % 3
        return (
            np.searchsorted(keys, orders[:, source] @ digits).astype(np.int32),
            (twists[:, :6] @ _WEIGHTS).astype(np.int32),
        )


positions = cache(Positions)


class Table:
    """Distances and parts of all positions. Use `table`, which makes it once a process.

    A breadth-first search from the solved cube goes as far as somebody asks: to six moves in
    milliseconds, to all 11 in about half a second. The table takes 3.7 MB, and the last levels of
    the search some 70 MB.
    """

    def __init__(self) -> None:
        self._positions = positions()
        self._found = np.full(POSITIONS, _UNKNOWN, dtype=np.uint8)
        self._found[SOLVED] = 0
        self._entries = self._found.data
        self._frontier = np.array([SOLVED], dtype=np.int32)
        self._searched = 0
        self._searching = Lock()

    def _search(self, distance: int) -> None:
        with self._searching:  # environments may step in threads
            while self._searched < distance:
                self._search_next()

    def _search_next(self) -> None:
        """Find the positions one move farther than those that are known."""
        entries, frontier, distance = self._found, self._frontier, self._searched + 1
        if distance == DEALT + 1:
            self._deal(frontier)
        reached = []
        order, twists = np.divmod(frontier, TWISTS)
        for orders, turned in self._positions.moves:
            number = TWISTS * orders[order] + turned[twists]
            new = number[entries[number] == _UNKNOWN]
            entries[new] = distance
            reached.append(new)
            ahead = entries[number] & _DISTANCE == distance
            entries[number[ahead]] |= entries[frontier[ahead]] & ~np.uint8(_DISTANCE)
        self._frontier = np.concatenate(reached)
        self._searched = distance

    def distance(self, number: int) -> int:
        """Return the moves of a shortest solution."""
        while (found := self._entries[number] & _DISTANCE) == _UNKNOWN:
            self._search(self._searched + 1)
        return found

    def part(self, number: int) -> str:
        """Return the part of a position; "none" if its solutions lead through several."""
        distance = self.distance(number)
        if distance < DEALT:
            return "train"
        self._search(max(distance, DEALT + 1))
        parts = self._entries[number] >> _BITS
        return "none" if parts & parts - 1 else _PARTS[parts.bit_length() - 1]

    def farther(self, number: int) -> list[int]:
        """Return the positions one move farther from the solved cube that belong to a part."""
        distance = self.distance(number) + 1
        return [
            other
            for other in self._positions.after(number)
            if self.distance(other) == distance and self.part(other) != "none"
        ]

    def best_move(self, number: int) -> tuple[int, int]:
        """Return the first move that leads nearer to the solved cube, and its result."""
        distance = self.distance(number) - 1
        after = enumerate(self._positions.after(number))
        return next(
            (move, other)
            for move, other in after
            if self._entries[other] & _DISTANCE == distance  # farther ones may not be searched yet
        )

    def _deal(self, frontier: Numbers) -> None:
        """Give each position a part, the same for all images of one."""
        classes: dict[str, set[int]] = {}
        known: set[int] = set()
        for number in frontier.tolist():
            if number not in known:
                stickers = self._positions.stickers(number)
                alike = {self._positions.number(image) for image in images(stickers)}
                known |= alike
                classes[content_hash_of(stickers)] = alike
        ordered = sorted(classes, key=lambda digest: (len(classes[digest]), digest))
        for place, digest in enumerate(ordered):
            self._found[list(classes[digest])] |= 1 << _BITS + place % len(_PARTS)


table = cache(Table)


def distance(stickers: str) -> int:
    """Return the moves of a shortest solution of a cube, 0 to 11."""
    return table().distance(positions().number(stickers))


def solution(stickers: str) -> list[int]:
    """Return a shortest solution as indices of `ACTIONS`; ties go to the first index."""
    moves = []
    number = positions().number(stickers)
    while number != SOLVED:
        move, number = table().best_move(number)
        moves.append(move)
    return moves

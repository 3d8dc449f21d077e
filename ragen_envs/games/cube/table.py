"""The table of all positions: the distance of each to the solved cube, and its part.

Parts are dealt at distance 4. Up to rotation and reflection there are 68 positions. They are
ordered by the number of their images, then by a hash, and dealt in turn to val, test, sealed and
train. A position farther away belongs to a part if all its shortest solutions pass through
positions of that part, and to no part otherwise. So shortest solutions of different parts share no
state until three moves are left. The 26 positions within three moves belong to train.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ragen_envs.games.cube.positions import POSITIONS, SOLVED, TWISTS, Numbers, positions
from ragen_envs.games.cube.rules import content_hash_of, images

LONGEST = 11
"""Maximum distance from the solved cube."""
DEALT = 4
"""The distance at which positions are dealt to the parts."""
_PARTS = ("val", "test", "sealed", "train")
_UNKNOWN = 15
_BITS = 4
"""Bits of an entry for the distance; the higher bits are the parts that solutions lead through."""
_DISTANCE = (1 << _BITS) - 1


class Table:
    """Distances and parts of all positions. Use `table`, which makes it once a process.

    A breadth-first search from the solved cube makes it in about a second. It takes 3.7 MB, and
    some 70 MB during the search.
    """

    def __init__(self) -> None:
        self._positions = positions()
        distances = np.full(POSITIONS, _UNKNOWN, dtype=np.uint8)
        parts = np.zeros(POSITIONS, dtype=np.uint8)
        distances[SOLVED] = 0
        frontier = np.array([SOLVED], dtype=np.int32)
        for distance in range(LONGEST):
            if distance == DEALT:
                self._deal(frontier, parts)
            reached = []
            for number in self._neighbours(frontier):
                new = number[distances[number] == _UNKNOWN]
                distances[new] = distance + 1
                reached.append(new)
                ahead = distances[number] == distance + 1
                parts[number[ahead]] |= parts[frontier[ahead]]
            frontier = np.concatenate(reached)
        self._entries = (distances | parts << _BITS).data

    def distance(self, number: int) -> int:
        """Return the moves of a shortest solution."""
        return self._entries[number] & _DISTANCE

    def part(self, number: int) -> str:
        """Return the part of a position; "none" if its solutions lead through several."""
        entry = self._entries[number]
        if entry & _DISTANCE < DEALT:
            return "train"
        parts = entry >> _BITS
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
        """Return the first move that leads nearer to the solved cube, and its result.

        Args:
            number: Position that is not solved.
        """
        distance = self.distance(number) - 1
        after = enumerate(self._positions.after(number))
        return next((move, other) for move, other in after if self.distance(other) == distance)

    def _neighbours(self, numbers: Numbers) -> Iterator[Numbers]:
        """Yield for each move the positions after it."""
        order, twists = np.divmod(numbers, TWISTS)
        for orders, turned in self._positions.moves:
            yield TWISTS * orders[order] + turned[twists]

    def _deal(self, frontier: Numbers, parts: NDArray[np.uint8]) -> None:
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
            parts[list(classes[digest])] = 1 << place % len(_PARTS)


@cache
def table() -> Table:
    """Return the table."""
    return Table()

"""The rules of FrozenLake: its maps, slips and steps. Pure: no randomness, no text of a player.

Squares are numbered along the rows of the map's text, line ends included.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragen_envs.core.instances import content_hash, partition_of
from ragen_envs.core.symmetry import canonical_grid, images

ACTIONS = ("Up", "Right", "Down", "Left")
"""In clockwise order, so that the neighbours of an action are what it slips to."""
GAME = "frozen-lake"
START, FROZEN, HOLE, GOAL = "S", "F", "H", "G"
"""The letters of a map, as in Gymnasium's FrozenLake-v1."""
ENDS = (HOLE, GOAL)
"""The squares that end an episode."""


@dataclass(frozen=True)
class Slip:
    """How often a step goes elsewhere, as odds.

    Attributes:
        intended: weight of the intended direction.
        aside: weight of each of the two perpendicular ones.
    """

    intended: int = 1
    aside: int = 1

    @property
    def total(self) -> int:
        """The sum of the three weights."""
        return self.intended + 2 * self.aside

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """The direction that `turn` returns for each roll."""
        return tuple(map(self.turn, range(self.total)))

    def turn(self, roll: int) -> int:
        """Return the quarter turns (0, 1 or 3) that a roll in [0, total) gives a step."""
        if roll < self.intended:
            return 0
        return 1 if roll < self.intended + self.aside else 3


@dataclass(frozen=True)
class Lake:
    """A map with its start, in Gymnasium's letters: S start, F frozen, H hole, G goal.

    Attributes:
        map: rows of equal length joined by line ends.
        ceiling: the success rate of the best policy, if it is known already.
    """

    map: str
    ceiling: float | None = None

    @cached_property
    def start(self) -> int:
        """The square where the player begins."""
        return self.map.index(START)

    @property
    def stride(self) -> int:
        """Squares from one row to the next."""
        return len(self.map.partition("\n")[0]) + 1

    @cached_property
    def neighbours(self) -> list[tuple[int, int, int, int]]:
        """For each square the ones that lie in the directions of `ACTIONS`; itself at the edge."""
        return neighbours_of(self.map.count("\n") + 1, self.stride - 1)

    @cached_property
    def distances(self) -> dict[int, int]:
        """Steps from the start to each square that can be reached, over ice that does not slip."""
        steps = {self.start: 0}
        frontier = [self.start]
        while frontier:
            reached = []
            for square in frontier:
                if self.map[square] in ENDS:
                    continue
                for beside in self.neighbours[square]:
                    if beside not in steps:
                        steps[beside] = steps[square] + 1
                        reached.append(beside)
            frontier = reached
        return steps

    @cached_property
    def shortest_path(self) -> int | None:
        """Steps to the goal over ice that does not slip, or None if it cannot be reached."""
        return self.distances.get(self.map.index(GOAL))

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for rotations, reflections and any unreachable squares.

        Squares that cannot be reached are counted as holes: they play no part in the game.
        """
        return content_hash(GAME, canonical_grid(self._within_reach))

    @property
    def part(self) -> str:
        """The part of all lakes that this one belongs to.

        It is decided by holes and goal, which play does not change: lakes of different parts have
        no state in common.
        """
        return partition_of(content_hash(f"{GAME} map", canonical_grid(self.board)), sixteenths=3)

    @cached_property
    def board(self) -> str:
        """The map without its start; unreachable squares are holes."""
        return self._within_reach.replace(START, FROZEN)

    @cached_property
    def standing(self) -> tuple[str, int, int]:
        """The `board` in a form that is equal for its images, its columns, and the start in it."""
        height, width = self.map.count("\n") + 1, self.stride - 1
        columns = min(height, width)
        least, placed = min(
            (image.replace(START, FROZEN), image) for image in images(self._within_reach)
        )
        board = "\n".join([least[i : i + columns] for i in range(0, len(least), columns)])
        start = placed.index(START)
        return board, columns, start + start // columns

    @cached_property
    def _within_reach(self) -> str:
        reached = self.distances
        return "".join(
            symbol if symbol == "\n" or square in reached else HOLE
            for square, symbol in enumerate(self.map)
        )


@lru_cache(maxsize=8)
def neighbours_of(height: int, width: int) -> list[tuple[int, int, int, int]]:
    """Return `Lake.neighbours` for a size."""

    def square(y: int, x: int) -> int:
        return min(max(y, 0), height - 1) * (width + 1) + min(max(x, 0), width - 1)

    return [
        (square(y - 1, x), square(y, x + 1), square(y + 1, x), square(y, x - 1))
        for y in range(height)
        for x in range(width + 1)
    ]

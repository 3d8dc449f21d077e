"""The rules of FrozenLake: its maps, slips and steps; and the generator of lakes.

Squares are numbered along the rows of the map's text, line ends included.

"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragen_envs.core.instances import RandomStream, content_hash, partition_of
from ragen_envs.core.symmetry import canonical_grid, images

ACTIONS = ("Up", "Right", "Down", "Left")
"""In clockwise order, so that the neighbours of an action are what it slips to."""
GAME = "frozen-lake"
_HOLE_ODDS = 5
_SHORTEST = 2
"""Minimum steps from start to goal."""
START, FROZEN, HOLE, GOAL = "S", "F", "H", "G"
"""The letters of a map, as in Gymnasium's FrozenLake-v1."""
ENDS = (HOLE, GOAL)
"""The squares that end an episode."""


@dataclass(frozen=True)
class Slip:
    """How often a step goes the intended way, and each of the two perpendicular ones, as odds."""

    intended: int = 1
    aside: int = 1

    @property
    def total(self) -> int:
        return self.intended + 2 * self.aside

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """The quarter turns (0, 1 or 3) that each roll in [0, total) gives a step."""
        return (0,) * self.intended + (1,) * self.aside + (3,) * self.aside


@dataclass(frozen=True)
class Lake:
    """A map with its start, in Gymnasium's letters: S start, F frozen, H hole, G goal.

    The map's rows have equal length and are joined by line ends. The ceiling is the success rate of
    the best policy, if it is known already.
    """

    map: str
    ceiling: float | None = None

    @cached_property
    def start(self) -> int:
        return self.map.index(START)

    @property
    def stride(self) -> int:
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
        """The content hash, equal for rotations, reflections and any unreachable squares."""
        return content_hash(GAME, canonical_grid(self._within_reach))

    @property
    def part(self) -> str:
        """The part of all lakes, decided by holes and goal, so that parts share no state."""
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


@dataclass(frozen=True)
class Generator:
    """Makes square lakes whose goal is not adjacent to the start and can be reached.

    Each square except start and goal is a hole with probability 1/5. `max_length` is the maximum
    steps from start to goal, without slips; one below the minimum length is a ValueError.
    """

    size: int = 4
    max_length: int = 10

    def __post_init__(self) -> None:
        if self.max_length < _SHORTEST:
            raise ValueError(f"max_length is at least {_SHORTEST}, got {self.max_length}")

    def __call__(self, stream: RandomStream) -> Iterator[Lake | None]:
        """Yield lakes, each a pure function of the stream, and None where a try gave none."""
        size = self.size
        while True:
            squares = [FROZEN if roll else HOLE for roll in stream.rolls(_HOLE_ODDS, size * size)]
            start, goal = stream.sample(range(size * size), 2)
            squares[start], squares[goal] = START, GOAL
            rows = ["".join(squares[i : i + size]) for i in range(0, size * size, size)]
            lake = Lake("\n".join(rows))
            steps = lake.shortest_path
            yield lake if steps is not None and _SHORTEST <= steps <= self.max_length else None

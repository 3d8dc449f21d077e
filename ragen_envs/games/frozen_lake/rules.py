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
_HOLE_BELOW = -(-(1 << 64) // 5)
"""Random words below this, one in five, make a hole."""
_SHORTEST = 2
"""Minimum steps from start to goal."""
START, FROZEN, HOLE, GOAL = "S", "F", "H", "G"
"""The letters of a map, as in Gymnasium's FrozenLake-v1."""
_ICE = str.maketrans({START: "1", FROZEN: "1", HOLE: "0", GOAL: "0", "\n": "0"})


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

    @property
    def shortest_path(self) -> int | None:
        """Steps to the goal over ice that does not slip, or None if it cannot be reached."""
        return self._survey[0]

    @property
    def within_reach(self) -> str:
        """The map with holes in place of the squares that cannot be reached."""
        return self._survey[1]

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for rotations, reflections and any unreachable squares."""
        return content_hash(GAME, canonical_grid(self.within_reach))

    @property
    def part(self) -> str:
        """The part of all lakes, decided by holes and goal, so that parts share no state."""
        return partition_of(content_hash(f"{GAME} map", canonical_grid(self.board)), sixteenths=3)

    @property
    def board(self) -> str:
        """The map without its start; unreachable squares are holes."""
        return self.within_reach.replace(START, FROZEN)

    @cached_property
    def standing(self) -> tuple[str, int, int]:
        """The `board` in a form that is equal for its images, its columns, and the start in it."""
        height, width = self.map.count("\n") + 1, self.stride - 1
        columns = min(height, width)
        least, placed = min(
            (image.replace(START, FROZEN), image) for image in images(self.within_reach)
        )
        board = "\n".join([least[i : i + columns] for i in range(0, len(least), columns)])
        start = placed.index(START)
        return board, columns, start + start // columns

    @cached_property
    def _survey(self) -> tuple[int | None, str]:
        """`shortest_path` and `within_reach`.

        Squares are bits, the first the highest, since a flood of ints takes a tenth of the time of
        one of sets. A step past an edge is to a line end or beyond the map, which are not ice.
        """
        squares, stride = self.map, self.stride
        ice = int(squares.translate(_ICE), 2)
        last = len(squares) - 1
        goal, reached = (1 << last - squares.index(letter) for letter in (GOAL, START))
        frontier, steps, shortest = reached, 0, None
        while frontier:
            steps += 1
            frontier = frontier << 1 | frontier >> 1 | frontier << stride | frontier >> stride
            if shortest is None and frontier & goal:
                shortest = steps
            frontier &= ice & ~reached
            reached |= frontier
        if shortest is not None:
            reached |= goal
        if reached == ice | goal:
            return shortest, squares
        return shortest, "".join(
            [
                HOLE if letter in (FROZEN, GOAL) and not reached >> last - square & 1 else letter
                for square, letter in enumerate(squares)
            ]
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
        size, count = self.size, self.size**2
        while True:
            *squares, start, goal = stream.words(count + 2)
            letters = [HOLE if word < _HOLE_BELOW else FROZEN for word in squares]
            # Two different squares, as `stream.sample(range(count), 2)` gives them.
            first, second = start * count >> 64, 1 + (goal * (count - 1) >> 64)
            letters[first] = START
            letters[0 if second == first else second] = GOAL
            cells = "".join(letters)
            lake = Lake("\n".join([cells[i : i + size] for i in range(0, count, size)]))
            steps = lake.shortest_path
            yield lake if steps is not None and _SHORTEST <= steps <= self.max_length else None

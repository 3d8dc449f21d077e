"""The generator of lakes, whose goal is reachable and not adjacent to the start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.frozen_lake.rules import FROZEN, GOAL, HOLE, START, Lake

_HOLE_ODDS = 5
_SHORTEST = 2
"""Minimum steps from start to goal."""


@dataclass(frozen=True)
class Generator:
    """Makes square lakes; each square except start and goal is a hole with probability 1/5.

    Args:
        size: Number of rows and columns.
        max_length: Maximum steps from start to goal, without slips.

    Raises:
        ValueError: A maximum below the minimum length.
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

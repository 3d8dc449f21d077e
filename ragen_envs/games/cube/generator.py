"""The generator of cubes, whose distance to the solved one is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.cube.instance import Cube
from ragen_envs.games.cube.positions import SOLVED, positions
from ragen_envs.games.cube.rules import ROTATIONS, turned
from ragen_envs.games.cube.table import table

_FARTHEST = 9
"""Of the positions farther off, one in a hundred belongs to a part."""


@dataclass(frozen=True)
class Generator:
    """Makes cubes by random moves away from the solved one, and holds each in a random way.

    Args:
        min_length: moves of the shortest solution at least; all lengths are equally likely.
        max_length: moves of the shortest solution at most.

    Raises:
        ValueError: If they are not in order, or not between 1 and 9.
    """

    min_length: int = 1
    max_length: int = 6

    def __post_init__(self) -> None:
        if not 1 <= self.min_length <= self.max_length <= _FARTHEST:
            raise ValueError(
                f"lengths go from 1 to {_FARTHEST}, got min_length={self.min_length} and "
                f"max_length={self.max_length}"
            )

    def __call__(self, stream: RandomStream) -> Iterator[Cube | None]:
        """Yield cubes, each a pure function of the stream, and None where a try gave none."""
        while True:
            length = self.min_length + stream.below(self.max_length - self.min_length + 1)
            number = _walk(stream, length)
            rotation = ROTATIONS[stream.below(len(ROTATIONS))]
            if number is None:
                yield None
            else:
                yield Cube(turned(positions().stickers(number), rotation), length)


def _walk(stream: RandomStream, length: int) -> int | None:
    """Return a position so far from the solved one, None if the way ended before."""
    number = SOLVED
    for _ in range(length):
        farther = table().farther(number)
        if not farther:
            return None
        number = farther[stream.below(len(farther))]
    return number

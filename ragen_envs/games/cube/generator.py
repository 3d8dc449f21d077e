"""The generator of cubes, whose distance to the solved one is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.cube.instance import Cube
from ragen_envs.games.cube.positions import SOLVED, positions
from ragen_envs.games.cube.rules import ROTATIONS, turn_cube
from ragen_envs.games.cube.table import table

_FARTHEST = 9
"""Only one in a hundred of the positions farther away belongs to a part."""


@dataclass(frozen=True)
class Generator:
    """Makes cubes by random moves away from the solved one, each in a random orientation.

    Args:
        min_length: Minimum moves of a shortest solution; all lengths are equally likely.
        max_length: Maximum moves of a shortest solution.

    Raises:
        ValueError: Lengths that are not in order, or not between 1 and 9.
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
                yield Cube(turn_cube(positions().stickers(number), rotation), length)


def _walk(stream: RandomStream, length: int) -> int | None:
    """Return a position at a distance from the solved one; None if the walk ended before."""
    number = SOLVED
    for _ in range(length):
        farther = table().farther(number)
        if not farther:
            return None
        number = farther[stream.below(len(farther))]
    return number

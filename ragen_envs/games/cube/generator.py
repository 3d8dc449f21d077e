"""Instances: cubes with their part of all positions, and their generator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.cube.rules import ROTATIONS, content_hash_of, turn_cube
from ragen_envs.games.cube.table import SOLVED, positions, table

_FARTHEST = 9
"""Only one in a hundred of the positions farther away belongs to a part."""


@dataclass(frozen=True)
class Cube:
    """A cube to solve: its 24 stickers, see `ragen_envs.games.cube.rules`."""

    stickers: str
    optimal_length: int

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for its rotations and mirror images."""
        return content_hash_of(self.stickers)

    @property
    def part(self) -> str:
        """The part of all its shortest solutions, "none" if they lead through several."""
        return table().part(positions().number(self.stickers))


@dataclass(frozen=True)
class Generator:
    """Makes cubes by random moves away from the solved one, each in a random orientation."""

    min_length: int = 1  # moves of a shortest solution; all lengths are equally likely
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
            number, steps = SOLVED, 0
            while steps < length and (farther := table().farther(number)):
                number = farther[stream.below(len(farther))]
                steps += 1
            rotation = ROTATIONS[stream.below(len(ROTATIONS))]
            stickers = turn_cube(positions().stickers(number), rotation)
            yield Cube(stickers, length) if steps == length else None

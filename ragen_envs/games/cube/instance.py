"""Instances: cubes, each with its part of all positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ragen_envs.games.cube.positions import positions
from ragen_envs.games.cube.rules import content_hash_of
from ragen_envs.games.cube.table import table


@dataclass(frozen=True)
class Cube:
    """A cube to solve.

    Attributes:
        stickers: Colours of the 24 stickers, see `ragen_envs.games.cube.rules`.
        optimal_length: Moves of a shortest solution.
    """

    stickers: str
    optimal_length: int

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for its rotations and mirror images."""
        return content_hash_of(self.stickers)

    @property
    def part(self) -> str:
        """The part that all its shortest solutions belong to.

        "none" if they lead through several parts, see `ragen_envs.games.cube.table`.
        """
        return table().part(positions().number(self.stickers))

"""Instances: cubes, each with its part of all positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ragen_envs.cube.positions import positions
from ragen_envs.cube.rules import content_hash_of
from ragen_envs.cube.table import table


@dataclass(frozen=True)
class Cube:
    """A cube to solve.

    Attributes:
        stickers: its 24 colours, see `ragen_envs.cube.rules`.
        optimal_length: the moves of a shortest solution.
    """

    stickers: str
    optimal_length: int

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for its rotations and mirror images."""
        return content_hash_of(self.stickers)

    @property
    def part(self) -> str:
        """The part that it belongs to with all its shortest solutions, see `ragen_envs.cube.table`.

        It is "none" where these lead through several parts.
        """
        return table().part(positions().number(self.stickers))

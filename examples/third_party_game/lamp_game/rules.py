"""The states of Lamps: a row of lamps, lit or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ragen_envs.core.instances import content_hash, partition_of

GAME = "lamps"
SIZE = 18
"""Lamps in the row. As it is not 2 modulo 3, each state has exactly one solution."""


def press(state: int, lamp: int) -> int:
    """Return the state after a press, which switches the lamp and its neighbours.

    Args:
        state: Bit i is set if lamp i is lit.
        lamp: The index of the lamp.
    """
    return state ^ ((0b111 << lamp >> 1) & ((1 << SIZE) - 1))


@dataclass(frozen=True)
class Row:
    """An instance.

    Attributes:
        state: The lamps that are lit at first, as for `press`.
    """

    state: int

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for the mirrored row."""
        lamps = f"{self.state:0{SIZE}b}"
        return content_hash(GAME, min(lamps, lamps[::-1]).encode())

    @property
    def part(self) -> str:
        """The split that the instance may be used in."""
        return partition_of(self.digest)

"""The rules of Countdown: deals, and the ways to combine numbers. Pure: no randomness, no text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ragen_envs.core.instances import content_hash, partition_of

GAME = "countdown"


@dataclass(frozen=True)
class Deal:
    """An instance: the numbers to combine, and the target.

    Attributes:
        numbers: The numbers, in ascending order.
        target: The value to reach.
        solutions: Number of solutions, as `ragen_envs.games.countdown.solver` counts them.
    """

    numbers: tuple[int, ...]
    target: int
    solutions: int

    @cached_property
    def digest(self) -> str:
        """The content hash; the order of the numbers does not count."""
        return content_hash(GAME, f"{self.numbers} {self.target}".encode())

    @property
    def part(self) -> str:
        """The part that this deal belongs to; the numbers alone decide it."""
        digest = content_hash(f"{GAME} numbers", repr(self.numbers).encode())
        return partition_of(digest, sixteenths=3)


def remaining_numbers(numbers: Iterable[int], used: Iterable[int]) -> list[int]:
    """Return the numbers that are not used, in order; `used` must be among the numbers."""
    rest = list(numbers)
    for number in used:
        rest.remove(number)
    return rest

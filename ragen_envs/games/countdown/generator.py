"""The deals of Countdown, and their generator: random numbers and a target that they can reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ragen_envs.core.instances import RandomStream, content_hash, partition_of
from ragen_envs.games.countdown.solver import count_solutions

GAME = "countdown"
_MOST_NUMBERS = 6


@dataclass(frozen=True)
class Deal:
    """An instance: numbers to combine, ascending, and the target; `solutions` as in `solver`."""

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


@dataclass(frozen=True)
class Generator:
    """Makes deals of 3 to 6 tiles with 1 to `max_solutions` solutions (see `solver`).

    A number that may be dealt twice is listed twice in `tiles`. Any solution uses at least
    `fewest_used` numbers.
    """

    tiles: tuple[int, ...] = tuple(range(1, 26))
    count: int = 4
    min_target: int = 10
    max_target: int = 99
    fewest_used: int = 3
    max_solutions: int = 20

    def __post_init__(self) -> None:
        if not 3 <= self.count <= min(_MOST_NUMBERS, len(self.tiles)):
            raise ValueError(f"count goes from 3 to {_MOST_NUMBERS} of the tiles, got {self.count}")
        if min(self.tiles) < 1 or not 1 <= self.min_target <= self.max_target:
            raise ValueError(
                "tiles and targets are at least 1, and min_target at most max_target, got "
                f"{self.min_target} and {self.max_target}"
            )
        if not 1 <= self.fewest_used <= self.count or self.max_solutions < 1:
            raise ValueError(
                f"fewest_used goes from 1 to {self.count} and max_solutions from 1, got "
                f"{self.fewest_used} and {self.max_solutions}"
            )

    def __call__(self, stream: RandomStream) -> Iterator[Deal | None]:
        """Yield deals, each a pure function of the stream, and None where a try gave none."""
        while True:
            dealt = stream.sample(range(len(self.tiles)), self.count)
            numbers = tuple(sorted(self.tiles[tile] for tile in dealt))
            target = self.min_target + stream.below(self.max_target - self.min_target + 1)
            known = self._count_solutions(numbers, target)
            yield Deal(numbers, target, known) if known else None

    def _count_solutions(self, numbers: tuple[int, ...], target: int) -> int:
        """Return the number of solutions, 0 for a deal that is not accepted."""
        known = 0
        for used, count in enumerate(count_solutions(numbers, target), 1):
            known += count
            if known > self.max_solutions or (count and used < self.fewest_used):
                return 0
        return known

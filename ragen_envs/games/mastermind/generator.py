"""The generator of openings: random guesses with the answers of a random code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.mastermind.rules import Opening, all_codes


@dataclass(frozen=True)
class Generator:
    """Makes openings whose guesses each rule out at least one code.

    Args:
        pegs: Number of pegs.
        rows: Number of guesses in an opening.
        fewest: Minimum number of codes that an opening leaves.
        most: Maximum number of codes that an opening leaves.

    Raises:
        ValueError: The range is empty.
    """

    pegs: int = 3
    rows: int = 3
    fewest: int = 6
    most: int = 40

    def __post_init__(self) -> None:
        if not 2 <= self.fewest <= self.most:
            raise ValueError(
                f"fewest is at least 2 and at most most, got {self.fewest!r} and {self.most!r}"
            )

    def __call__(self, stream: RandomStream) -> Iterator[Opening | None]:
        """Yield openings, each a pure function of the stream, and None where a try gave none."""
        every = all_codes(self.pegs)
        while True:
            secret, *guesses = stream.rolls(len(every.codes), 1 + self.rows)
            rows = tuple((guess, every.rows[guess][secret]) for guess in guesses)
            yield self._opening(rows)

    def _opening(self, rows: tuple[tuple[int, int], ...]) -> Opening | None:
        every = all_codes(self.pegs)
        left = (1 << len(every.codes)) - 1
        for guess, kind in rows:
            before = left
            left &= every.agreeing(guess, kind)
            if left == before:
                return None
        return Opening(self.pegs, rows) if self.fewest <= left.bit_count() <= self.most else None

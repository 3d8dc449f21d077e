"""The generator of puzzles: a random full grid, and the digits taken out that it does not need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.sudoku.rules import BOXES, EMPTY, Puzzle, replace_digit
from ragen_envs.games.sudoku.solver import (
    decide,
    find_undecided,
    is_needed,
    list_candidates,
    propagate,
    write_grid,
)

_MOST_EMPTY = {4: 11, 6: 26}
"""Maximum number of cells to fill; most tries with more cells give no puzzle."""


@dataclass(frozen=True)
class Generator:
    """Makes puzzles with one solution. Each number of cells to fill is equally likely."""

    size: int = 4  # of rows, columns and digits: 4 or 6
    min_empty: int = 2
    max_empty: int = 11

    def __post_init__(self) -> None:
        if self.size not in BOXES:
            raise ValueError(f"size is 4 or 6, got {self.size!r}")
        if not 1 <= self.min_empty <= self.max_empty <= _MOST_EMPTY[self.size]:
            raise ValueError(
                f"cells to fill go from 1 to {_MOST_EMPTY[self.size]} here, got "
                f"min_empty={self.min_empty} and max_empty={self.max_empty}"
            )

    def __call__(self, stream: RandomStream) -> Iterator[Puzzle | None]:
        """Yield puzzles, each a pure function of the stream, and None where a try gave none."""
        while True:
            count = self.min_empty + stream.below(self.max_empty - self.min_empty + 1)
            solution = _fill_grid(stream, self.size)
            givens = solution and _take_digits(stream, solution, self.size, count)
            yield Puzzle(givens, solution) if solution and givens else None


def _fill_grid(stream: RandomStream, size: int) -> str | None:
    """Return a random full grid, or None where random digits lead to none."""
    candidates = propagate(list_candidates(EMPTY * size * size, size), size)
    while candidates is not None:
        cell = find_undecided(candidates)
        if cell is None:
            return write_grid(candidates, size)
        numbers = [number for number, mask in enumerate(candidates) if mask >> cell & 1]
        number = numbers[stream.below(len(numbers))]
        candidates = propagate(decide(candidates, cell, number), size)
    return None


def _take_digits(stream: RandomStream, solution: str, size: int, count: int) -> str | None:
    """Return the puzzle after `count` digits that it does not need are taken, in random order."""
    grid = solution
    for cell in stream.sample(range(size * size), size * size):
        if not count:
            break
        if not is_needed(grid, size, cell):
            grid = replace_digit(grid, cell, EMPTY)
            count -= 1
    return None if count else grid

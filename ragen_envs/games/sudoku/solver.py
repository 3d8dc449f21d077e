"""The exact solver: candidates of cells as bits, propagation, and search.

The state of a search has for each digit the set of cells that may hold it, as an int.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ragen_envs.games.sudoku.rules import DIGITS, EMPTY, find_peers, replace_digit

Candidates = tuple[int, ...]


@lru_cache(maxsize=2)
def _keeping(size: int) -> tuple[int, ...]:
    """Return for each cell the cells that may still hold its digit: itself, and no peer."""
    return tuple(~peers for peers in find_peers(size))


def list_candidates(grid: str, size: int) -> Candidates:
    """Return the candidates of a grid, without propagation."""
    masks = dict.fromkeys(EMPTY + DIGITS[:size], 0)
    for cell, digit in enumerate(grid):
        masks[digit] |= 1 << cell
    empty = masks.pop(EMPTY)
    return tuple([mask | empty for mask in masks.values()])


def propagate(candidates: Candidates, size: int) -> Candidates | None:
    """Remove the digit of each decided cell from its peers; None if a cell has no digit left."""
    keeping, every = _keeping(size), (1 << size * size) - 1
    masks, done = list(candidates), 0
    while True:
        some = several = 0
        for mask in masks:
            several |= some & mask
            some |= mask
        fresh = some & ~several & ~done
        if some != every:
            return None
        if not fresh:
            return tuple(masks)
        done |= fresh
        for number, mask in enumerate(masks):
            decided = mask & fresh
            while decided:
                lowest = decided & -decided
                mask &= keeping[lowest.bit_length() - 1]
                decided ^= lowest
            masks[number] = mask


def find_solutions(candidates: Candidates, size: int) -> Iterator[str]:
    """Yield the solutions, each a full grid."""
    reduced = propagate(candidates, size)
    if reduced is None:
        return
    cell = find_undecided(reduced)
    if cell is None:
        yield write_grid(reduced, size)
        return
    for number, mask in enumerate(reduced):
        if mask >> cell & 1:
            yield from find_solutions(decide(reduced, cell, number), size)


def find_undecided(candidates: Candidates) -> int | None:
    """Return a cell with the fewest candidates of those with two or more; None if there is none."""
    some = several = many = 0
    for mask in candidates:
        many |= several & mask
        several |= some & mask
        some |= mask
    if not several:
        return None
    fewest = several & ~many or several
    return (fewest & -fewest).bit_length() - 1


def decide(candidates: Candidates, cell: int, number: int) -> Candidates:
    """Return the candidates after a cell gets the digit of a number from 0."""
    without = ~(1 << cell)
    return tuple([mask if i == number else mask & without for i, mask in enumerate(candidates)])


def write_grid(candidates: Candidates, size: int) -> str:
    """Return the grid in which every cell has a single candidate."""
    return "".join(
        next(digit for digit, mask in zip(DIGITS, candidates, strict=False) if mask >> cell & 1)
        for cell in range(size * size)
    )


def is_needed(grid: str, size: int, cell: int) -> bool:
    """Return whether a puzzle has another solution without the given of a cell."""
    candidates = list(list_candidates(replace_digit(grid, cell, EMPTY), size))
    candidates[DIGITS.index(grid[cell])] ^= 1 << cell
    return next(find_solutions(tuple(candidates), size), None) is not None

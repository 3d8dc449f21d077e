"""Names of the squares of a grid, for texts that give coordinates."""

from __future__ import annotations

from functools import lru_cache

POSITIONS = "Positions as (row, column), both from 0 in reading order"
"""What stands before the names of squares; "the top left" would name an action."""


@lru_cache(maxsize=64)
def coordinates_of(squares: int, stride: int) -> tuple[str, ...]:
    """Return "(row, column)" for each square, numbered along rows that are a stride apart."""
    return tuple(f"({i // stride}, {i % stride})" for i in range(squares))

"""The solution of a row of lamps."""

from __future__ import annotations

from functools import cache

from lamp_game.rules import SIZE, press


@cache
def solve(state: int) -> tuple[int, ...]:
    """Return the lamps to press, in order; () if all are off.

    The order of presses does not matter, and a second press undoes the first. So the first lamp is
    pressed or not, and then each lamp decides about the press of the next one.
    """
    solutions = []
    for first in (False, True):
        presses, rest = [], state
        for lamp in range(SIZE):
            if first if lamp == 0 else rest >> (lamp - 1) & 1:
                presses.append(lamp)
                rest = press(rest, lamp)
        if not rest:
            solutions.append(tuple(presses))
    return min(solutions, key=len)

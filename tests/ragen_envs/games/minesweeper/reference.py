"""Minesweeper once more, on coordinates and sets. Nothing is imported from the package."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations


def places(rows):
    """Return all places of a board, along its rows."""
    return [(y, x) for y in range(len(rows)) for x in range(len(rows[0]))]


def around(rows, place):
    """Return the places that touch one."""
    y, x = place
    return [
        (v, u) for v, u in places(rows) if (v, u) != place and abs(v - y) <= 1 and abs(u - x) <= 1
    ]


def number(rows, mines, place):
    """Return how many mines touch a place."""
    return sum(other in mines for other in around(rows, place))


def flooded(rows, mines, opened, place):
    """Return the open places after one was opened, by recursion."""
    opened = opened | {place}
    if number(rows, mines, place) == 0:
        for other in around(rows, place):
            if other not in opened:
                opened = flooded(rows, mines, opened, other)
    return opened


def drawn(rows, mines, opened):
    """Return the rows as a player sees them."""
    return [
        "".join(
            str(number(rows, mines, (y, x))) if (y, x) in opened else "#"
            for x in range(len(rows[0]))
        )
        for y in range(len(rows))
    ]


def opened_of(rows):
    """Return the open places."""
    return frozenset((y, x) for y, x in places(rows) if rows[y][x] != "#")


def layouts(rows, mines):
    """Return all sets of mines that a board allows, by trying each."""
    opened = opened_of(rows)
    closed = [place for place in places(rows) if place not in opened]
    clues = [(around(rows, (y, x)), int(rows[y][x])) for y, x in opened]
    return [
        chosen
        for chosen in map(frozenset, combinations(closed, mines))
        if all(sum(place in chosen for place in near) == digit for near, digit in clues)
    ]


def risks(rows, mines):
    """Return the chance of a mine on each closed place."""
    possible = layouts(rows, mines)
    return {
        place: Fraction(sum(place in each for each in possible), len(possible))
        for place in places(rows)
        if place not in opened_of(rows)
    }


def chances(rows, possible, memo=None):
    """Return the chance to win by opening each closed place with the best play after it.

    Every place is tried, the surely safe ones too.
    """
    memo = {} if memo is None else memo
    found = {}
    opened = opened_of(rows)
    for place in places(rows):
        if place in opened:
            continue
        seen = {}
        for mines in possible:
            if place not in mines:
                after = drawn(rows, mines, flooded(rows, mines, opened, place))
                seen.setdefault(tuple(after), []).append(mines)
        found[place] = sum(
            (Fraction(len(same), len(possible)) * best(after, same, memo))
            for after, same in seen.items()
        )
    return found


def best(rows, possible, memo=None):
    """Return the best player's chance to win."""
    memo = {} if memo is None else memo
    if "".join(rows).count("#") == len(possible[0]):
        return Fraction(1)
    key = tuple(rows)
    if key not in memo:
        memo[key] = max(chances(rows, possible, memo).values())
    return memo[key]

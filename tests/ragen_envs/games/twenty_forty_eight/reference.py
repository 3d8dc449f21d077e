"""2048 once more, on lists of tiles. Nothing is imported from the package."""

from __future__ import annotations

from fractions import Fraction

ACTIONS = ("Up", "Right", "Down", "Left")


def slid(tiles):
    """Return a line after a slide to its first place, by recursion; 0 is an empty square."""
    full = [tile for tile in tiles if tile]
    if len(full) < 2:
        return full + [0] * (len(tiles) - len(full))
    merges = full[0] == full[1]
    rest = slid(full[2:] if merges else full[1:])
    line = [full[0] * 2 if merges else full[0], *rest]
    return line + [0] * (len(tiles) - len(line))


def turned(rows):
    """Return the rows after a quarter turn to the left: the right column comes first."""
    return [list(column) for column in zip(*rows, strict=True)][::-1]


def moved(rows, action):
    """Return the rows after a move: a turn, a slide to the left, and the turn back."""
    turns = {"Left": 0, "Up": 1, "Right": 2, "Down": 3}[action]
    for _ in range(turns):
        rows = turned(rows)
    rows = [slid(row) for row in rows]
    for _ in range(-turns % 4):
        rows = turned(rows)
    return rows


def empty(rows):
    return [(y, x) for y, row in enumerate(rows) for x, tile in enumerate(row) if not tile]


def with_tile(rows, place, tile):
    return [
        [tile if (y, x) == place else old for x, old in enumerate(row)]
        for y, row in enumerate(rows)
    ]


def legal(rows):
    """Return the actions that change the board."""
    return [action for action in ACTIONS if moved(rows, action) != rows]


def largest(rows):
    return max(max(row) for row in rows)


def chance_after(rows, target, moves_left, beyond=None, depth=None):
    """Return the exact chance to reach the target from a board after a move.

    `beyond` gives the value of a board where `depth` new tiles have been looked at.
    """
    if largest(rows) >= target:
        return Fraction(1)
    if not moves_left:
        return Fraction(0)
    if depth == 0:
        return beyond(rows)
    depth = None if depth is None else depth - 1
    places = empty(rows)
    total = Fraction(0)
    for place in places:
        for tile, odds in ((2, Fraction(9, 10)), (4, Fraction(1, 10))):
            values = chances(with_tile(rows, place, tile), target, moves_left, beyond, depth)
            total += odds * max(values.values(), default=Fraction(0)) / len(places)
    return total


def chances(rows, target, moves_left, beyond=None, depth=None):
    """Return the chance of each action that changes the board, with the best play after it."""
    return {
        action: chance_after(moved(rows, action), target, moves_left - 1, beyond, depth)
        for action in legal(rows)
    }

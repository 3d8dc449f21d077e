"""Scenes: where the things of a board stand, and which relations hold between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

Square = tuple[int, int]
"""Row and column, counted from the top left."""
_MANY = {"hole", "wall"}
"""Things of which there are many, so that a thought does not say which one it means."""
DIRECTIONS: Mapping[str, Square] = {
    "above": (-1, 0),
    "below": (1, 0),
    "left": (0, -1),
    "right": (0, 1),
}


@dataclass(frozen=True)
class Relation:
    """The position of one thing relative to another.

    The direction is a key of `DIRECTIONS`. The distance in squares is None if not stated. `near`
    stands for "directly" or "next to".
    """

    direction: str
    distance: int | None = None
    near: bool = False


@dataclass(frozen=True)
class Scene:
    """The positions of things.

    `places` has the squares of each kind of thing, the player as "me"; `corners` the first and last
    row and column that play can reach. `coordinates`: the rules explain how squares are numbered.
    """

    places: Mapping[str, frozenset[Square]]
    corners: tuple[int, int, int, int]
    coordinates: bool = False

    def relates(self, thing: str, relations: tuple[Relation, ...], other: str) -> bool | None:
        """Return whether a thing of one kind has all relations to a thing of another kind.

        A box or goal is above another if its row is higher, in any column. A wall must be on the
        next square. None if a statement is ambiguous: a hole farther away on that side, or a thing
        "directly above" that is in line but not on the next square.
        """
        pairs = list(product(self.places[thing], self.places[other]))
        lax = bool({thing, other} & _MANY) and all(r.distance is None for r in relations)
        strict = lax or any(relation.near for relation in relations)
        if any(_hold(a, b, relations, strict and len(relations) == 1) for a, b in pairs):
            return True
        if strict and "wall" not in (thing, other):
            in_line = len(relations) == 1 and not lax
            if any(_hold(a, b, relations, False, in_line) for a, b in pairs):
                return None
        return False

    def in_corner(self, thing: str, bottom: bool, right: bool) -> bool:
        """Return whether a thing of this kind stands in a corner."""
        return (self.corners[int(bottom)], self.corners[2 + int(right)]) in self.places[thing]

    def distance(self, thing: str, other: str) -> int:
        """Return the steps between the nearest things of two kinds, ignoring obstacles, or -1."""
        pairs = product(self.places[thing], self.places[other])
        return min((abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairs), default=-1)


def _hold(
    a: Square, b: Square, relations: tuple[Relation, ...], adjacent: bool, in_line: bool = False
) -> bool:
    away = a[0] - b[0], a[1] - b[1]
    for relation in relations:
        down, right = DIRECTIONS[relation.direction]
        along = away[0] * down + away[1] * right
        across = abs(away[0] * right) + abs(away[1] * down)
        if along < 1 if relation.distance is None else along != relation.distance:
            return False
        if (adjacent and (along, across) != (1, 0)) or (in_line and across):
            return False
    return True

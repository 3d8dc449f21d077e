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
    """Where one thing lies from another.

    Attributes:
        direction: a key of `DIRECTIONS`.
        distance: squares along the direction, None if none are named.
        near: whether it is said to be directly there.
    """

    direction: str
    distance: int | None = None
    near: bool = False


@dataclass(frozen=True)
class Scene:
    """Where things stand.

    Attributes:
        places: of each kind of thing; the player is "me".
        corners: the first row, last row, first column and last column that play can reach.
        coordinates: whether the player is told how squares are counted.
    """

    places: Mapping[str, frozenset[Square]]
    corners: tuple[int, int, int, int]
    coordinates: bool = False

    def relates(self, thing: str, relations: tuple[Relation, ...], other: str) -> bool | None:
        """Tell whether some thing lies so from some other, in each of the relations.

        One box or goal lies above another if its row is higher, in whatever column. Of a wall only
        the next square counts. None if it can be meant either way: a hole that lies farther off on
        that side, or something "directly above" that is not on the next square but in line.
        """
        pairs = list(product(self.places[thing], self.places[other]))
        lax = bool({thing, other} & _MANY) and all(
            relation.distance is None for relation in relations
        )
        strict = lax or any(relation.near for relation in relations)
        if any(_hold(a, b, relations, strict and len(relations) == 1) for a, b in pairs):
            return True
        if strict and "wall" not in (thing, other):
            in_line = len(relations) == 1 and not lax
            if any(_hold(a, b, relations, False, in_line) for a, b in pairs):
                return None
        return False

    def stands_at(self, thing: str, place: Square) -> bool:
        """Tell whether such a thing stands on a square."""
        return place in self.places[thing]

    def in_corner(self, thing: str, bottom: bool, right: bool) -> bool:
        """Tell whether such a thing stands in a corner."""
        return self.stands_at(thing, (self.corners[int(bottom)], self.corners[2 + int(right)]))

    def distance(self, thing: str, other: str) -> int:
        """Return the steps between the nearest two of both things, as if nothing stood between."""
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

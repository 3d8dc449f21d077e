"""The rules of the 2x2x2 cube: its stickers, moves and symmetries. Pure: no randomness, no text.

A cube is 24 letters, the colours of its stickers, face by face in the order U R F D L B and along
the rows of each face, as in the strings of Kociemba's solvers. The colours have the letters of the
faces too: a solved cube, held so, is UUUURRRRFFFFDDDDLLLLBBBB. Every face is seen from outside; Up
has Front below it, Down has Front above it, and the others have Up above them.

Only Up, Right and Front are turned. A turn of Down is one of Up followed by a turn of the whole
cube, so nothing is missing, and the corner where Down, Back and Left meet stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter

from ragen_envs.core.instances import content_hash

GAME = "cube"
FACES = "URFDLB"
ACTIONS = ("U", "U'", "U2", "R", "R'", "R2", "F", "F'", "F2")
"""A face by a quarter clockwise, a quarter counterclockwise, and by half: the half-turn metric."""
DOWN, BACK, LEFT = 14, 23, 18
"""The stickers of the corner that stays."""
_OPPOSITE = dict(zip(FACES, "DLBURF", strict=True))

Turn = Callable[[str], tuple[str, ...]]
"""Returns the 24 stickers as they stand afterwards."""
_Cycles = Sequence[Sequence[int]]
_QUARTERS: tuple[_Cycles, ...] = (
    ((0, 1, 3, 2), (8, 16, 20, 4), (9, 17, 21, 5)),
    ((4, 5, 7, 6), (9, 1, 22, 13), (11, 3, 20, 15)),
    ((8, 9, 11, 10), (2, 4, 13, 19), (3, 6, 12, 17)),
)
"""Where stickers go when Up, Right and Front turn clockwise: each to the place that follows it."""
_AROUND: _Cycles = (
    (0, 1, 3, 2),
    (12, 14, 15, 13),
    *[(8 + i, 16 + i, 20 + i, 4 + i) for i in range(4)],
)
"""The whole cube turned as Up turns."""
_OVER: _Cycles = (
    (4, 5, 7, 6),
    (16, 18, 19, 17),
    *[(8 + i, i, 23 - i, 12 + i) for i in range(4)],
)
"""The whole cube turned as Right turns."""
_MIRRORED: _Cycles = (
    *[(face + i, face + i + 1) for face in (0, 8, 12, 20) for i in (0, 2)],
    *((4, 17), (5, 16), (6, 19), (7, 18)),
)
"""Left and right exchanged."""


def _sources(cycles: _Cycles) -> tuple[int, ...]:
    sources = list(range(24))
    for cycle in cycles:
        for i, place in enumerate(cycle):
            sources[cycle[(i + 1) % len(cycle)]] = place
    return tuple(sources)


def _then(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(first[place] for place in second)


def _powers(quarter: tuple[int, ...]) -> tuple[Turn, Turn, Turn]:
    """Return a quarter clockwise, a quarter counterclockwise and half a turn."""
    half = _then(quarter, quarter)
    return itemgetter(*quarter), itemgetter(*_then(half, quarter)), itemgetter(*half)


def _generate_group(*generators: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return all that the generators make, in the order in which they are found."""
    found = [tuple(range(24))]
    for element in found:  # it grows meanwhile
        for generator in generators:
            product = _then(element, generator)
            if product not in found:
                found.append(product)
    return found


MOVES = tuple(turn for cycles in _QUARTERS for turn in _powers(_sources(cycles)))
"""The effect of each of `ACTIONS`."""
_WAYS = _generate_group(_sources(_AROUND), _sources(_OVER))
ROTATIONS = tuple(itemgetter(*way) for way in _WAYS)
"""The 24 ways to hold a cube."""
SYMMETRIES = tuple(
    itemgetter(*way) for way in _WAYS + [_then(way, _sources(_MIRRORED)) for way in _WAYS]
)
"""The same, and as many with a mirror."""


def turn_cube(stickers: str, turn: Turn) -> str:
    """Return a cube after a turn."""
    return "".join(turn(stickers))


def solved_form(stickers: str) -> str:
    """Return the solved cube that a cube can be turned into, by the corner that stays."""
    down, back, left = stickers[DOWN], stickers[BACK], stickers[LEFT]
    up, right, front = _OPPOSITE[down], _OPPOSITE[left], _OPPOSITE[back]
    return "".join([4 * colour for colour in (up, right, front, down, left, back)])


def normal_form(stickers: str) -> str:
    """Return a cube with each colour named after the face where it belongs."""
    return stickers.translate(_names(stickers[DOWN], stickers[BACK], stickers[LEFT]))


@lru_cache(maxsize=48)
def _names(down: str, back: str, left: str) -> dict[int, str]:
    names = {down: "D", back: "B", left: "L"}
    names |= {_OPPOSITE[colour]: _OPPOSITE[face] for colour, face in names.items()}
    return str.maketrans(names)


def images(stickers: str) -> list[str]:
    """Return the normal forms of the 48 rotated and mirrored images of a cube."""
    form = normal_form(stickers)
    return [normal_form("".join(symmetry(form))) for symmetry in SYMMETRIES]


def canonical_form(stickers: str) -> str:
    """Return a form that is equal for all rotations and mirror images of a cube."""
    return min(images(stickers))


def content_hash_of(stickers: str) -> str:
    """Return the hash of a cube's canonical form."""
    return content_hash(GAME, canonical_form(stickers).encode())

"""The squares of the unfolded cube, as numbers and as colours."""

from __future__ import annotations

from ragen_envs.core.boards import Tile
from ragen_envs.games.cube.rules import FACES

HEIGHT, WIDTH = 6, 8
_CORNERS = {"U": (0, 2), "L": (2, 0), "F": (2, 2), "R": (2, 4), "B": (2, 6), "D": (4, 2)}
"""Row and column of each face's first sticker in the net, which leaves no room between faces."""
TILES = (
    Tile("nothing", (60, 62, 68), look="dark grey"),
    Tile("white", (250, 250, 250)),
    Tile("red", (200, 40, 40)),
    Tile("green", (40, 150, 70)),
    Tile("yellow", (250, 214, 60)),
    Tile("orange", (240, 130, 30)),
    Tile("blue", (40, 84, 190)),
)
"""The colours in the order of `FACES`."""
_NUMBERS = bytes.maketrans(FACES.encode(), bytes(range(1, len(TILES))))


def _places() -> tuple[int, ...]:
    """Return the square of each sticker, in the order of a cube's string."""
    corners = [_CORNERS[face] for face in FACES]
    return tuple((y + i // 2) * WIDTH + x + i % 2 for y, x in corners for i in range(4))


_PLACES = _places()


def tile_numbers(stickers: str) -> bytes:
    """Return the number in `TILES` of each square of the net, row by row."""
    squares = bytearray(HEIGHT * WIDTH)
    for place, number in zip(_PLACES, stickers.encode().translate(_NUMBERS), strict=True):
        squares[place] = number
    return bytes(squares)

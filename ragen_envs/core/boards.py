"""Boards as numbers and as pictures.

A square shows one of the board's tiles. A tile's number stands for its meaning, so variants that
differ in their letters only have the same numbers and the same picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""
PIXELS = 32
"""Height and width of a square in a picture."""
METADATA: dict[str, object] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 1}
"""Gymnasium's metadata of a game that has a board."""
BLANK = 8 * (8 * ".",)
"""The mark of a square that shows its ground alone."""
FIGURE = (
    "...##...",
    "...##...",
    ".######.",
    ".#.##.#.",
    "...##...",
    "..####..",
    "..#..#..",
    ".##..##.",
)
"""The mark of a player."""
PLAYER_INK: Colour = (40, 84, 170)
MOST_COUNTED = 99
"""Maximum number in a board's `counts`."""
_COUNT_GROUND: Colour = (40, 42, 48)
_COUNT_INK: Colour = (240, 240, 240)
PICTURED = "The picture shows the board."
"""Line of an observation whose board is shown in a picture."""
_EDGE = 0.85
"""Brightness of the line between squares, as a fraction of the ground's."""


def draw_marks(drawing: str) -> tuple[tuple[str, ...], ...]:
    """Return marks drawn side by side: eight rows of eight characters each."""
    rows = [row.split() for row in drawing.strip().splitlines()]
    return tuple(zip(*rows, strict=True))


DIGITS = draw_marks("""
    ..###... ...#.... ..###... .####... ....#... .#####.. ..###... .#####.. ..###... ..###...
    .#...#.. ..##.... .#...#.. .....#.. ...##... .#...... .#...... .....#.. .#...#.. .#...#..
    .#...#.. ...#.... .....#.. .....#.. ..#.#... .####... .#...... ....#... .#...#.. .#...#..
    .#...#.. ...#.... ....#... ..###... .#..#... .....#.. .####... ...#.... ..###... ..####..
    .#...#.. ...#.... ...#.... .....#.. .#####.. .....#.. .#...#.. ...#.... .#...#.. .....#..
    .#...#.. ...#.... ..#..... .....#.. ....#... .#...#.. .#...#.. ..#..... .#...#.. .....#..
    ..###... ..###... .#####.. .####... ....#... ..###... ..###... ..#..... ..###... ..###...
    ........ ........ ........ ........ ........ ........ ........ ........ ........ ........
""")
"""The marks of the digits from 0 to 9."""


class Tile(NamedTuple):
    """One of the things that a square can show.

    Attributes:
        meaning: Meaning in a word or two.
        ground: Colour of the square.
        mark: Eight rows of eight characters; characters other than "." are inked.
        ink: Colour of the mark.
        look: Description of the picture for the legend; "" where the meaning is enough.
    """

    meaning: str
    ground: Colour
    mark: Sequence[str] = BLANK
    ink: Colour = (0, 0, 0)
    look: str = ""


class Board(NamedTuple):
    """The board of a variant, equal in all its episodes.

    Attributes:
        height: Number of rows.
        width: Number of columns.
        tiles: Tiles in the order of their numbers; at most 256.
        actions: Names of the actions; each turn lists all or some of them.
        counts: Signs of numbers up to `MOST_COUNTED` that are shown with the board. In a
            picture each sign and its number form a row above the board.
        note: Extra sentence of the rules about the picture.
    """

    height: int
    width: int
    tiles: tuple[Tile, ...]
    actions: tuple[str, ...]
    counts: tuple[Tile, ...] = ()
    note: str = ""

    @property
    def legend(self) -> str:
        """Meaning of the picture's squares, as a line of a game's rules."""
        tiles, counts = (
            ", ".join(f"{t.meaning} ({t.look})" if t.look else t.meaning for t in shown)
            for shown in (self.tiles, self.counts)
        )
        legend = f"The board is shown in a picture. Its squares: {tiles}."
        if counts:
            legend += f" Above them stand the numbers of {counts}."
        return f"{legend} {self.note}".rstrip()

    @property
    def pixels(self) -> tuple[int, int]:
        """Height and width of a picture."""
        return (len(self.counts) + self.height) * PIXELS, self.width * PIXELS


def planes(board: Board, numbers: bytes) -> NDArray[np.uint8]:
    """Return one plane for each tile, with 1 on the squares that show it and 0 on the others.

    `numbers` has the number of each square's tile, row by row; the result is a new array of shape
    (tiles, height, width).
    """
    kinds = np.arange(len(board.tiles), dtype=np.uint8)[:, None, None]
    shown: NDArray[np.uint8] = (_grid(board, numbers) == kinds).view(np.uint8)
    return shown


def picture(board: Board, numbers: bytes, counts: Sequence[int] = ()) -> NDArray[np.uint8]:
    """Return the board in colours: a new array of shape (*board.pixels, 3), red, green and blue.

    Args:
        board: The board.
        numbers: The number of each square's tile, row by row.
        counts: The board's counts, in the order of their signs.
    """
    squares: NDArray[np.uint8] = _paint(board.tiles)[_grid(board, numbers)]
    if board.counts:
        rows = []
        blank = Tile("", _COUNT_GROUND)
        for sign, count in zip(board.counts, counts, strict=True):
            digits = [Tile("", _COUNT_GROUND, DIGITS[int(d)], _COUNT_INK) for d in f"{count:02}"]
            rows.append(_paint((sign, *digits, *[blank] * (board.width - 3))))
        squares = np.concatenate([np.stack(rows), squares])
    # From rows and columns of squares, each with its own, to rows and columns of pixels.
    return squares.transpose(0, 2, 1, 3, 4).reshape(*board.pixels, 3)


def _grid(board: Board, numbers: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(numbers, dtype=np.uint8).reshape(board.height, board.width)


@lru_cache(maxsize=256)
def _paint(tiles: tuple[Tile, ...]) -> NDArray[np.uint8]:
    """Return the pixels of each tile, of shape (tiles, PIXELS, PIXELS, 3)."""
    pixels = np.empty((len(tiles), PIXELS, PIXELS, 3), dtype=np.uint8)
    for square, tile in zip(pixels, tiles, strict=True):
        square[:] = tile.ground
        square[-1] = square[:, -1] = [int(_EDGE * part) for part in tile.ground]
        inked = np.array([[dot != "." for dot in row] for row in tile.mark])
        scale = PIXELS // len(tile.mark)
        square[inked.repeat(scale, axis=0).repeat(scale, axis=1)] = tile.ink
    return pixels


POSITIONS = "Positions as (row, column), both from 0 in reading order"
"""Heading of the squares' coordinates; "the top left" would name an action."""


@lru_cache(maxsize=64)
def coordinates_of(squares: int, stride: int) -> tuple[str, ...]:
    """Return "(row, column)" for each square, numbered row by row with `stride` squares each."""
    return tuple(f"({i // stride}, {i % stride})" for i in range(squares))

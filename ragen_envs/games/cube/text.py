"""The cube's net as text, in each vocabulary, and as tiles, and the rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from ragen_envs.core.boards import Tile
from ragen_envs.core.budget import Budget
from ragen_envs.games.cube.rules import ACTIONS, FACES, Turn

_NET = """\
   UU
   UU
LL FF RR BB
LL FF RR BB
   DD
   DD"""
_NAMES = """\
  U
L F R B
  D"""
_FILLING = " \n"
_BESIDE = """\
A face's own stickers turn with it. Those beside it go along: by a clockwise quarter each row or \
column goes to the next one of its line, in the direction given, and the last to the first.
Up: top row of Front rightwards, top row of Left rightwards, top row of Back rightwards, \
top row of Right rightwards.
Right: right column of Front downwards, right column of Up downwards, left column of Back upwards, \
right column of Down downwards.
Front: bottom row of Up rightwards, left column of Right downwards, top row of Down leftwards, \
right column of Left upwards."""
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
_PLACES = tuple(
    (y + i // 2) * WIDTH + x + i % 2 for y, x in (_CORNERS[c] for c in FACES) for i in range(4)
)
"""The square of each sticker, in the order of a cube's string."""


@dataclass(frozen=True)
class Vocabulary:
    """The letters of the six colours, in the order of `FACES`, and their meaning."""

    letters: str
    meaning: str

    @cached_property
    def table(self) -> dict[int, int]:
        return str.maketrans(FACES, self.letters)


@dataclass(frozen=True)
class Notation:
    """The names of the nine moves, in the order of `ACTIONS`, and their meaning."""

    names: tuple[str, ...]
    meaning: str


CLASSIC = Vocabulary("WRGYOB", "Colours: W white, Y yellow, R red, O orange, G green, B blue.")
NEW = Vocabulary("HKMTVX", "Colours: H, K, M, T, V, X.")
"""Letters of the held-out vocabulary."""
LETTERS = Notation(
    ACTIONS,
    "U, R and F turn the Up, Right and Front face by a quarter clockwise, as it is drawn; with ' "
    "they turn it counterclockwise, and with 2 by half.",
)
WORDS = Notation(
    tuple(
        f"{face} {way}"
        for face in ("Up", "Right", "Front")
        for way in ("clockwise", "counterclockwise", "half turn")
    ),
    "They turn the Up, Right or Front face by a quarter clockwise or counterclockwise, as it is "
    "drawn, or by half.",
)


def _places() -> Turn:
    """Return the getter of the net's characters from the 24 stickers and `_FILLING`."""
    seen = dict.fromkeys(FACES, 0)
    places = []
    for character in _NET:
        if character in seen:
            places.append(4 * FACES.index(character) + seen[character])
            seen[character] += 1
        else:
            places.append(24 + _FILLING.index(character))
    return itemgetter(*places)


_DRAWN = _places()


def net(stickers: str, vocabulary: Vocabulary) -> str:
    """Return a cube unfolded."""
    return "".join(_DRAWN(stickers.translate(vocabulary.table) + _FILLING))


def rules(legend: str, notation: Notation, budget: Budget) -> str:
    """Return the rules; the legend is the line that explains the stickers."""
    return (
        "You are turning the faces of a 2x2x2 cube: bring each face to a single colour, whichever "
        "it is.\n"
        "The cube is drawn unfolded, each face as it is seen from outside:\n"
        f"{_NAMES}\n"
        "U is Up, L Left, F Front, R Right, B Back, D Down.\n"
        f"{legend}\n"
        f"Actions: {', '.join(notation.names)}.\n"
        f"{notation.meaning}\n"
        f"{_BESIDE}\n"
        f"{budget.sentence}"
    )


def tile_numbers(stickers: str) -> bytes:
    """Return the number in `TILES` of each square of the net, row by row."""
    squares = bytearray(HEIGHT * WIDTH)
    for place, number in zip(_PLACES, stickers.encode().translate(_NUMBERS), strict=True):
        squares[place] = number
    return bytes(squares)

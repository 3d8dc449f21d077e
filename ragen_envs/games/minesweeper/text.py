"""The board as text and as tiles, and the rules."""

from __future__ import annotations

from functools import lru_cache

from ragen_envs.core.boards import DIGITS, Colour, Tile, draw_marks
from ragen_envs.games.minesweeper.rules import CLOSED

HIT = "*"
"""The symbol of a mine that was opened."""
COLUMNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SYMBOLS = (
    f"Symbols: {CLOSED} a closed square; a digit, an open square with so many mines among the "
    f"squares around it, diagonal ones included; {HIT} a mine that you opened."
)
"""The symbols of the squares, as a line of the rules."""
_OPEN, _SHUT = (232, 232, 226), (142, 154, 172)
_INKS: tuple[Colour, ...] = (
    (0, 0, 0),
    (30, 70, 200),
    (20, 120, 50),
    (200, 30, 30),
    (20, 20, 110),
    (120, 20, 30),
    (0, 120, 130),
    (20, 20, 20),
    (110, 110, 110),
)
"""Colours of the digits 0 to 8; 0 is not drawn."""
_MINE, _LID = draw_marks("""
    ...##... ........
    .#.##.#. .######.
    ..####.. .######.
    ######## .######.
    ######## .######.
    ..####.. .######.
    .#.##.#. .######.
    ...##... ........
""")
_DARK = (40, 42, 48)
TILES = (
    Tile("0 around it", _OPEN, look="empty and pale"),
    *(
        Tile(f"{digit} around it", _OPEN, DIGITS[digit], _INKS[digit], f"the digit {digit}")
        for digit in range(1, 9)
    ),
    Tile("closed", _SHUT, look="empty and blue-grey"),
    Tile("a mine that you opened", (214, 60, 50), _MINE, look="a black star on red"),
    Tile("no square at all", _DARK, look="empty and dark"),
)
"""The digits of open squares come first, each in the place of its number."""
MINES = Tile("mines", _DARK, _MINE, (240, 240, 240), "beside a white star on dark")
TO_OPEN = Tile("squares to open", _DARK, _LID, _SHUT, "beside a blue-grey square on dark")
_NUMBERS = bytes.maketrans(f"012345678{CLOSED}{HIT}".encode(), bytes(range(11)))
_NOTHING = bytes([len(TILES) - 1])


def rules(legend: str, turns: int) -> str:
    """Return the rules; the legend is the line that explains the symbols of the squares."""
    return (
        "You are playing Minesweeper: open every square that has no mine, and none that has one.\n"
        f"{legend}\n"
        "Opening a square with 0 opens the squares around it too, and so on from each further 0.\n"
        "Some squares are open from the start. All ways to place the mines that they allow are "
        "equally likely.\n"
        "Each turn, name one closed square: the letter of its column, then the number of its "
        "row. There are no flags.\n"
        f"You have {turns} turns."
    )


@lru_cache(maxsize=64)
def names_of(height: int, width: int) -> tuple[str, ...]:
    """Return the names of the squares along the rows: A1, B1, ... to the last of the last row."""
    return tuple(f"{COLUMNS[x]}{y + 1}" for y in range(height) for x in range(width))


def to_open(squares: str, mines: int) -> int:
    """Return the number of closed squares without a mine."""
    return squares.count(CLOSED) + squares.count(HIT) - mines


@lru_cache(maxsize=8192)
def board(squares: str, width: int, mines: int) -> str:
    """Return a board with its labels; `squares` has one symbol per square, row by row."""
    rows = [squares[i : i + width] for i in range(0, len(squares), width)]
    margin = len(str(len(rows)))
    return "\n".join(
        [
            f"Mines: {mines}. Squares to open: {to_open(squares, mines)}.",
            f"{'':{margin}} {' '.join(COLUMNS[:width])}",
            *[f"{number:{margin}} {' '.join(row)}" for number, row in enumerate(rows, 1)],
        ]
    )


@lru_cache(maxsize=1024)
def tile_numbers(squares: str, width: int, size: int) -> bytes:
    """Return the number in `TILES` of each square, row by row.

    The result has `size` rows and columns, with the board in its upper left corner.
    """
    numbers = squares.encode().translate(_NUMBERS)
    rows = [numbers[i : i + width].ljust(size, _NOTHING) for i in range(0, len(numbers), width)]
    return b"".join(rows).ljust(size * size, _NOTHING)

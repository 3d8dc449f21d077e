"""The grid as text and as tiles, the entries, and the rules."""

from __future__ import annotations

from functools import lru_cache

from ragen_envs.core.boards import DIGITS as MARKS
from ragen_envs.core.boards import Tile
from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import SEPARATOR, ActionReader
from ragen_envs.games.sudoku.rules import BOXES, DIGITS, EMPTY

EXAMPLE = "CELL=DIGIT || CELL=DIGIT"
COLUMNS = "ABCDEF"
OWN = "*"
"""The sign behind a digit that the player entered."""
SYMBOLS = f"Symbols: {EMPTY} an empty cell; a digit, given; a digit with {OWN}, entered by you."
"""The symbols of the cells, as a line of the rules."""
_GIVEN, _PAPER = (214, 214, 206), (250, 250, 246)
_BLACK, _BLUE = (20, 20, 20), (30, 70, 200)


@lru_cache(maxsize=2)
def list_tiles(size: int) -> tuple[Tile, ...]:
    """Return the empty tile, the given digits and the entered ones."""
    return (
        Tile("empty", _PAPER, look="white"),
        *(
            Tile(f"{name} {digit}", ground, MARKS[int(digit)], ink, f"{colour} {digit}{back}")
            for name, ground, ink, colour, back in (
                ("given", _GIVEN, _BLACK, "black", " on grey"),
                ("your", _PAPER, _BLUE, "blue", ""),
            )
            for digit in DIGITS[:size]
        ),
    )


def describe_picture(size: int) -> str:
    """Return the names of the lines and the place of the boxes, for a picture."""
    height, width = BOXES[size]
    return (
        f"Columns are called A to {COLUMNS[size - 1]} from the left, rows 1 to {size} from the "
        f"top. The first box is of the rows 1 to {height} and the columns A to "
        f"{COLUMNS[width - 1]}, the next one to its side, and so on."
    )


def rules(legend: str, size: int, budget: Budget) -> str:
    """Return the rules; the legend is the line that explains the symbols of the cells."""
    height, width = BOXES[size]
    return (
        "You are playing Sudoku: fill the grid so that each row, each column and each box of "
        f"{height} rows and {width} columns has each digit from 1 to {size} once. There is exactly "
        "one solution.\n"
        f"{legend}\n"
        "An action enters a digit into a cell: the letter of its column, the number of its row, = "
        "and the digit. A new entry replaces your earlier one in the cell; given digits stay.\n"
        "Wrong entries are accepted and not reported. The game ends as soon as the grid is the "
        "solution.\n"
        f"{budget.sentence}"
    )


@lru_cache(maxsize=2)
def list_entries(size: int) -> tuple[str, ...]:
    """Return the names of all entries: those of the first cell, A1=1, A1=2, ..., then the next."""
    return tuple(
        f"{column}{row}={digit}"
        for row in range(1, size + 1)
        for column in COLUMNS[:size]
        for digit in DIGITS[:size]
    )


class EntryReader(ActionReader):
    """Reads entries, in which neither case nor blanks matter: "a1 = 3" is "A1=3"."""

    def _words(self, body: str) -> list[str]:
        return ["".join(word.lower().split()) for word in body.split(SEPARATOR)]


@lru_cache(maxsize=2)
def reader(size: int) -> EntryReader:
    """Return the reader of the entries of a size."""
    return EntryReader(list_entries(size), EXAMPLE)


@lru_cache(maxsize=4096)
def draw_grid(givens: str, grid: str, size: int) -> str:
    """Return a grid with its labels, and with lines between the boxes."""
    height, width = BOXES[size]
    signs = [
        digit + (OWN if digit != given else " ") for given, digit in zip(givens, grid, strict=True)
    ]
    lines = [_join(" ", [letter + " " for letter in COLUMNS[:size]], width)]
    for row in range(size):
        if row and row % height == 0:
            lines.append(_join(" ", ["--"] * size, width).replace(" ", "-").replace("|", "+"))
        lines.append(_join(str(row + 1), signs[row * size : (row + 1) * size], width))
    return "\n".join(lines)


def _join(label: str, signs: list[str], width: int) -> str:
    """Return a line of cells, with a sign between the boxes."""
    boxes = [" ".join(signs[i : i + width]) for i in range(0, len(signs), width)]
    return f"{label} {'| '.join(boxes)}".rstrip()


@lru_cache(maxsize=1024)
def tile_numbers(givens: str, grid: str, size: int) -> bytes:
    """Return the number in `list_tiles` of each cell, row by row."""
    return bytes(
        0 if digit == EMPTY else int(digit) + (size if given == EMPTY else 0)
        for given, digit in zip(givens, grid, strict=True)
    )

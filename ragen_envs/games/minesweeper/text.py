"""The texts of Minesweeper: its rules, the names of squares, and boards with labels."""

from __future__ import annotations

from functools import lru_cache

from ragen_envs.games.minesweeper.rules import CLOSED

HIT = "*"
"""The symbol of a mine that was opened."""
COLUMNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


SYMBOLS = (
    f"Symbols: {CLOSED} a closed square; a digit, an open square with so many mines among the "
    f"squares around it, diagonal ones included; {HIT} a mine that you opened."
)
"""The symbols of the squares, as a line of the rules."""


def rules(legend: str, turns: int) -> str:
    """Return the rules.

    Args:
        legend: Line that explains the symbols of the squares.
        turns: Maximum turns per episode.
    """
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
    """Return a board with its labels.

    Args:
        squares: One symbol per square, row by row.
        width: Number of columns.
        mines: Number of mines.
    """
    rows = [squares[i : i + width] for i in range(0, len(squares), width)]
    margin = len(str(len(rows)))
    return "\n".join(
        [
            f"Mines: {mines}. Squares to open: {to_open(squares, mines)}.",
            f"{'':{margin}} {' '.join(COLUMNS[:width])}",
            *[f"{number:{margin}} {' '.join(row)}" for number, row in enumerate(rows, 1)],
        ]
    )

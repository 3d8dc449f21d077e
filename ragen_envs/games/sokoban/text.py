"""The texts of Sokoban: its rules and its grids, in each vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ragen_envs.core.boards import POSITIONS, coordinates_of
from ragen_envs.core.budget import Budget
from ragen_envs.games.sokoban.rules import (
    ACTIONS,
    BOX,
    BOX_ON_TARGET,
    FLOOR,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    Level,
)

_XSB = (WALL, FLOOR, TARGET, BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET)
_STAND_IN = "\x01"


@dataclass(frozen=True)
class Vocabulary:
    """One symbol for each thing that a square can show, in the order of XSB's ``# .$*@+``.

    Raises:
        ValueError: A symbol is not one character, or is not ASCII; only box_on_target may be other.
    """

    wall: str
    floor: str
    target: str
    box: str
    box_on_target: str
    player: str
    player_on_target: str

    def __post_init__(self) -> None:
        """Refuse symbols that the drawing cannot show."""
        for name, symbol in vars(self).items():
            if len(symbol) != 1 or (name != "box_on_target" and not symbol.isascii()):
                raise ValueError(f"{name} is one character of ASCII, got {symbol!r}")

    @cached_property
    def symbols(self) -> str:
        """All symbols in the order of XSB's."""
        return (
            self.wall
            + self.floor
            + self.target
            + self.box
            + self.box_on_target
            + self.player
            + self.player_on_target
        )

    @property
    def legend(self) -> str:
        """The meaning of the symbols, as a line of the rules."""
        return (
            f"Symbols: {self.wall} wall, {self.floor} floor, {self.target} target, {self.box} box, "
            f"{self.box_on_target} box on target, {self.player} you, "
            f"{self.player_on_target} you on target."
        )

    @cached_property
    def table(self) -> dict[int, str]:
        """The translation from XSB."""
        return str.maketrans(dict(zip(_XSB, self.symbols, strict=True)))


CLASSIC = Vocabulary("#", "_", "O", "X", "√", "P", "S")
"""RAGEN's symbols (arXiv 2504.20073, appendix)."""
NEW = Vocabulary("W", ".", "G", "B", "C", "A", "@")
"""The held-out symbols of RAGEN's SokobanNewVocab."""


def rules(legend: str, boxes: int, budget: Budget) -> str:
    """Return the rules.

    Args:
        legend: Line that explains the symbols of the squares.
        boxes: Number of boxes.
        budget: Budget of an episode.
    """
    goal = "the box onto the target" if boxes == 1 else f"all {boxes} boxes onto the targets"
    return (
        f"You are playing Sokoban: push {goal}.\n"
        f"{legend}\n"
        "You move one square at a time. Moving into a box pushes it one square further, if the "
        "square behind it is free. Boxes cannot be pulled, and nothing moves through a wall.\n"
        f"Actions: {', '.join(ACTIONS)}.\n"
        f"{budget.sentence}"
    )


class LevelRenderer:
    """Draws the states of one level.

    Args:
        level: Level; only its walls and targets matter.
        vocabulary: Symbols.
    """

    def __init__(self, level: Level, vocabulary: Vocabulary) -> None:
        v = vocabulary
        # One byte a square is fastest to edit. The only symbol beyond ASCII is put in at the end.
        box_on_target = v.box_on_target if v.box_on_target.isascii() else _STAND_IN
        self._replaced = box_on_target != v.box_on_target
        self._box_on_target = v.box_on_target
        self._box_codes = v.box.encode()[0], box_on_target.encode()[0]
        self._empty = bytearray(level.room.translate(v.table).encode("ascii"))
        self._targets = level.targets
        self._players = v.player, v.player_on_target
        self._boxes, self._without_player = -1, ""
        self._names = coordinates_of(len(level.xsb), level.stride)

    def draw(self, player: int, boxes: int) -> str:
        """Return the grid."""
        if boxes != self._boxes:  # most moves push nothing
            self._boxes, self._without_player = boxes, self._with(boxes)
        grid = self._without_player
        symbol = self._players[self._targets >> player & 1]
        return f"{grid[:player]}{symbol}{grid[player + 1 :]}"

    def _with(self, boxes: int) -> str:
        targets = self._targets
        squares = self._empty.copy()
        left = boxes
        while left:
            square = left.bit_length() - 1
            squares[square] = self._box_codes[targets >> square & 1]
            left ^= 1 << square
        grid = squares.decode()
        if self._replaced and boxes & targets:
            return grid.replace(_STAND_IN, self._box_on_target)
        return grid

    def coordinates(self, player: int, boxes: int) -> str:
        """Return a line that names the squares of the player, the boxes and the targets."""
        return (
            f"{POSITIONS}: you {self._names[player]}; "
            f"boxes {self._places(boxes)}; targets {self._target_places}."
        )

    @cached_property
    def _target_places(self) -> str:
        return self._places(self._targets)

    def _places(self, squares: int) -> str:
        names = []
        while squares:
            lowest = squares & -squares
            names.append(self._names[lowest.bit_length() - 1])
            squares ^= lowest
        return " ".join(names)

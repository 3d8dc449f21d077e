"""The texts of Sokoban: its rules and grids, in each vocabulary, and its tiles."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

from ragen_envs.core.boards import (
    FIGURE,
    PLAYER_INK,
    POSITIONS,
    Tile,
    coordinates_of,
    draw_marks,
)
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
    """One symbol for each thing that a square can show, in the order of XSB's ``# .$*@+``."""

    wall: str
    floor: str
    target: str
    box: str
    box_on_target: str
    player: str
    player_on_target: str

    def __post_init__(self) -> None:
        for name, symbol in vars(self).items():
            if len(symbol) != 1 or (name != "box_on_target" and not symbol.isascii()):
                raise ValueError(f"{name} is one character of ASCII, got {symbol!r}")

    @cached_property
    def symbols(self) -> str:
        return "".join(getattr(self, field.name) for field in fields(self))

    @property
    def legend(self) -> str:
        return (
            f"Symbols: {self.wall} wall, {self.floor} floor, {self.target} target, {self.box} box, "
            f"{self.box_on_target} box on target, {self.player} you, "
            f"{self.player_on_target} you on target."
        )

    @cached_property
    def table(self) -> dict[int, str]:
        return str.maketrans(dict(zip(_XSB, self.symbols, strict=True)))


CLASSIC = Vocabulary("#", "_", "O", "X", "√", "P", "S")
"""RAGEN's symbols (arXiv 2504.20073, appendix)."""
NEW = Vocabulary("W", ".", "G", "B", "C", "A", "@")
"""The held-out symbols of RAGEN's SokobanNewVocab."""


def rules(legend: str, boxes: int, budget: Budget) -> str:
    """Return the rules with a line that explains the symbols of the squares."""
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
    """Draws the states of one level, of which only its walls and targets matter."""

    def __init__(self, level: Level, vocabulary: Vocabulary) -> None:
        # One byte a square is fastest to edit. The only symbol beyond ASCII is put in at the end.
        symbol = vocabulary.box_on_target
        box_on_target = symbol if symbol.isascii() else _STAND_IN
        self._replaced = box_on_target != symbol
        self._box_on_target = symbol
        self._box_codes = vocabulary.box.encode()[0], box_on_target.encode()[0]
        self._empty = bytearray(level.room.translate(vocabulary.table).encode("ascii"))
        self._targets = level.targets
        self._players = vocabulary.player, vocabulary.player_on_target
        self._boxes, self._without_player = -1, ""
        self._names = coordinates_of(len(level.xsb), level.stride)

    def draw(self, player: int, boxes: int) -> str:
        if boxes != self._boxes:  # most moves push nothing
            squares, left = self._empty.copy(), boxes
            while left:
                square = left.bit_length() - 1
                squares[square] = self._box_codes[self._targets >> square & 1]
                left ^= 1 << square
            self._boxes, self._without_player = boxes, squares.decode()
            if self._replaced and boxes & self._targets:
                self._without_player = self._without_player.replace(_STAND_IN, self._box_on_target)
        grid = self._without_player
        symbol = self._players[self._targets >> player & 1]
        return f"{grid[:player]}{symbol}{grid[player + 1 :]}"

    def coordinates(self, player: int, boxes: int) -> str:
        return (
            f"{POSITIONS}: you {self._names[player]}; "
            f"boxes {self._places(boxes)}; targets {self._places(self._targets)}."
        )

    def _places(self, squares: int) -> str:
        names = []
        while squares:
            lowest = squares & -squares
            names.append(self._names[lowest.bit_length() - 1])
            squares ^= lowest
        return " ".join(names)


_STONE, _GROUND = (84, 88, 100), (236, 229, 214)
_RED, _WOOD, _GREEN = (200, 60, 50), (160, 104, 48), (52, 140, 72)
_BRICKS, _RING, _CRATE, _FIGURE_IN_RING = draw_marks("""
    ........ ........ ........ #..##..#
    #######. ..####.. .######. ...##...
    ........ .#....#. .##..##. .######.
    ###.#### .#.##.#. .#.##.#. .#.##.#.
    ........ .#.##.#. .#.##.#. ...##...
    #######. .#....#. .##..##. ..####..
    ........ ..####.. .######. ..#..#..
    ###.#### ........ ........ ###..###
""")
TILES = (
    Tile("wall", _STONE, _BRICKS, (112, 116, 128), "grey bricks"),
    Tile("floor", _GROUND, look="empty and pale"),
    Tile("target", _GROUND, _RING, _RED, "a red ring"),
    Tile("box", _GROUND, _CRATE, _WOOD, "a brown crate"),
    Tile("box on target", _GROUND, _CRATE, _GREEN, "a green crate"),
    Tile("player", _GROUND, FIGURE, PLAYER_INK, "a blue figure, which is you"),
    Tile("player on target", (244, 200, 190), _FIGURE_IN_RING, PLAYER_INK, "the figure on pink"),
)
"""In the order of XSB's ``# .$*@+``."""
_NUMBERS = bytes.maketrans("".join(_XSB).encode(), bytes(range(len(_XSB))))
_PIECES = {FLOOR: (BOX, PLAYER), TARGET: (BOX_ON_TARGET, PLAYER_ON_TARGET)}
"""The symbols of an empty square with a box on it, and with the player."""


def tile_numbers(level: Level, player: int, boxes: int) -> bytes:
    """Return the tile number of each square, row by row; the boxes' squares are bits."""
    squares = list(level.room)
    squares[player] = _PIECES[squares[player]][1]
    while boxes:
        square = boxes.bit_length() - 1
        squares[square] = _PIECES[squares[square]][0]
        boxes ^= 1 << square
    return "".join(squares).encode().translate(_NUMBERS, b"\n")

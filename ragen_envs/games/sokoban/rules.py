"""The rules of Sokoban: its levels and moves. Pure: no randomness, no text of a player.

Squares are numbered along the rows of the level's XSB text, line ends included, so a move is the
addition of one number, and a set of squares is an int with one bit a square.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ragen_envs.core.instances import content_hash, partition_of
from ragen_envs.core.symmetry import canonical_grid, crop

ACTIONS = ("Up", "Down", "Left", "Right")
GAME = "sokoban"
WALL, FLOOR, TARGET = "#", " ", "."
BOX, BOX_ON_TARGET = "$", "*"
PLAYER, PLAYER_ON_TARGET = "@", "+"
"""The symbols of XSB, the usual text form of Sokoban levels."""
_WITHOUT_PIECES = str.maketrans(
    {PLAYER: FLOOR, PLAYER_ON_TARGET: TARGET, BOX: FLOOR, BOX_ON_TARGET: TARGET}
)


def _digits(symbols: str) -> bytes:
    """Return the table that turns the symbols into the digit 1 and everything else into 0."""
    return bytes(ord("1") if chr(i) in symbols else ord("0") for i in range(256))


_IS_PLAYER = _digits(PLAYER + PLAYER_ON_TARGET)
_IS_BOX = _digits(BOX + BOX_ON_TARGET)
_IS_TARGET = _digits(TARGET + PLAYER_ON_TARGET + BOX_ON_TARGET)
_IS_WALL = _digits(WALL)


@dataclass(frozen=True)
class Level:
    """A level with its first state, read from XSB text.

    Its rows of equal length are joined by line ends: # wall, @ player, + player on target, $ box, *
    box on target, . target, blank floor. The optimal length is that of the generator or the file.
    """

    xsb: str
    optimal_length: int

    @cached_property
    def stride(self) -> int:
        return self.xsb.index("\n") + 1

    @cached_property
    def steps(self) -> tuple[int, int, int, int]:
        return -self.stride, self.stride, -1, 1

    @cached_property
    def walls(self) -> int:
        """The squares that nothing enters."""
        return self._squares(_IS_WALL)

    @cached_property
    def targets(self) -> int:
        """The squares that the boxes belong on."""
        return self._squares(_IS_TARGET)

    @cached_property
    def boxes(self) -> int:
        return self._squares(_IS_BOX)

    @cached_property
    def player(self) -> int:
        return self._squares(_IS_PLAYER).bit_length() - 1

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for the level's rotations, reflections and translations."""
        return content_hash(GAME, canonical_grid(self._within_walls))

    @property
    def part(self) -> str:
        """The part of all levels, decided by walls and targets, so that parts share no state."""
        room = self._within_walls.translate(_WITHOUT_PIECES)
        return partition_of(content_hash(f"{GAME} room", canonical_grid(room)))

    @cached_property
    def room(self) -> str:
        return self.xsb.translate(_WITHOUT_PIECES)

    @cached_property
    def _within_walls(self) -> str:
        return "\n".join(crop(self.xsb.split("\n"), WALL))

    def _squares(self, digits: bytes) -> int:
        # Read as a binary number, backwards, since the first square is the lowest bit.
        return int(self.xsb.encode("ascii", "replace")[::-1].translate(digits), 2)


def move(walls: int, player: int, boxes: int, step: int) -> tuple[int, int]:
    """Return the player's square and the boxes after a step; unchanged if it is blocked."""
    ahead = player + step
    here = 1 << ahead
    if walls & here:
        return player, boxes
    if boxes & here:
        beyond = 1 << (ahead + step)
        if (walls | boxes) & beyond:
            return player, boxes
        boxes ^= here | beyond
    return ahead, boxes

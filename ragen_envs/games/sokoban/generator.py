"""The generator of levels: solvable by construction, of known optimal length.

A room of random walls gets its targets; a breadth-first search backwards from all solved states
gives every state's distance; a state at the required distance is the level. Each level needs at
least two pushes, and at most as many moves as the limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.sokoban.bitboard import (
    Bitboard,
    CellSet,
    StateSet,
    bitboard,
    check_size,
    nth_bit,
)
from ragen_envs.games.sokoban.rules import (
    BOX,
    BOX_ON_TARGET,
    FLOOR,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    Level,
)

_SHORTEST = 3
"""Minimum moves of an optimal solution."""
_WORD_BITS = 64
_ROOM = str.maketrans("01", WALL + FLOOR)


@dataclass(frozen=True)
class Generator:
    """Makes levels of one size, outer wall included, of at most `max_length` optimal moves."""

    height: int = 6
    width: int = 6
    boxes: int = 1
    max_length: int = 10

    def __post_init__(self) -> None:
        if self.max_length < _SHORTEST:
            raise ValueError(f"max_length is at least {_SHORTEST}, got {self.max_length}")
        check_size(self.height - 2, self.width - 2, self.boxes)

    def __call__(self, stream: RandomStream) -> Iterator[Level | None]:
        """Yield levels, each a pure function of the stream, and None where a try gave none."""
        board = bitboard(self.height - 2, self.width - 2, self.boxes)
        while True:
            floor = _room(stream, board)
            targets = _targets(stream, board, floor)
            wished = _SHORTEST + stream.below(self.max_length - _SHORTEST + 1)
            choice = self._starts(board, floor, targets, wished) if targets else None
            if choice is None:
                yield None
                continue
            starts, length = choice
            pick = stream.below(starts.bit_count())
            index = nth_bit(starts, pick, board.cells ** (self.boxes + 1))
            yield Level(_xsb(board, floor, targets, *board.cells_of(index)), length)

    def _starts(
        self, board: Bitboard, floor: CellSet, targets: Sequence[int], wished: int
    ) -> tuple[StateSet, int] | None:
        """Return the first states to choose from and their distance.

        That is the wished distance, else the next longer one that occurs, else the next shorter. No
        level starts from a state that may be solved with one push. With several boxes none starts
        on a target, so each needs a push.
        """
        easy = board.with_box_on(targets) if board.boxes > 1 else _near(board, targets[0])
        found = None
        for length, layer in enumerate(islice(board.layers(floor, targets), self.max_length + 1)):
            starts = layer ^ (layer & easy)
            if starts and length >= _SHORTEST:
                found = starts, length
                if length >= wished:
                    break
        return found


def _room(stream: RandomStream, board: Bitboard) -> CellSet:
    """Return one connected region of floor; every other cell is wall, with odds 1/4 at first."""
    words = -(-board.cells // _WORD_BITS)
    one, other = (  # each has a cell, and perhaps some beyond the last row, with odds 1/2
        sum(word << _WORD_BITS * i for i, word in enumerate(stream.words(words))) for _ in range(2)
    )
    floor = ((1 << board.cells) - 1) & ~(one & other)
    if not floor:
        return 0
    region = 1 << nth_bit(floor, stream.below(floor.bit_count()), board.cells)
    while True:
        grown = board.grow(region) & floor
        if grown == region:
            return region
        region = grown


def _targets(stream: RandomStream, board: Bitboard, floor: CellSet) -> list[int]:
    """Return a target cell per box, ends of straight lines of three floor cells; [] if too few."""
    candidates = board.ends_of_lines(floor)
    if floor.bit_count() * 2 < board.cells or candidates.bit_count() < board.boxes:
        return []
    targets = []
    for _ in range(board.boxes):
        target = nth_bit(candidates, stream.below(candidates.bit_count()), board.cells)
        targets.append(target)
        candidates ^= 1 << target
    return targets


@lru_cache(maxsize=1024)
def _near(board: Bitboard, target: int) -> StateSet:
    ty, tx = divmod(target, board.width)
    near = [
        cell
        for cell in range(board.cells)
        if abs(cell // board.width - ty) + abs(cell % board.width - tx) <= 1
    ]
    return board.with_box_on(near)


def _xsb(
    board: Bitboard, floor: CellSet, targets: Sequence[int], player: int, boxes: Sequence[int]
) -> str:
    cells = list(f"{floor:0{board.cells}b}"[::-1].translate(_ROOM))
    for target in targets:
        cells[target] = TARGET
    for box in boxes:
        cells[box] = BOX_ON_TARGET if cells[box] == TARGET else BOX
    cells[player] = PLAYER_ON_TARGET if cells[player] == TARGET else PLAYER
    width = board.width
    edge = WALL * (width + 2)
    rows = ["".join(cells[i : i + width]) for i in range(0, board.cells, width)]
    return "\n".join((edge, *(f"{WALL}{row}{WALL}" for row in rows), edge))

"""The solver of Sokoban: optimal lengths, best moves and dead states of a level."""

from __future__ import annotations

from functools import lru_cache

from ragen_envs.sokoban.bitboard import StateSet, bitboard
from ragen_envs.sokoban.rules import ACTIONS, WALL, Level, move


class Solver:
    """Answers for every state of one level's room. Use `solver`, which keeps the recent ones.

    The level must have an outer wall. States are given as in `rules.move`.
    """

    def __init__(self, level: Level) -> None:
        rows = level.xsb.split("\n")
        self._level = level
        self._width = len(rows[0]) - 2
        self._board = bitboard(len(rows) - 2, self._width, level.boxes.bit_count())
        floor = sum(
            1 << self._cell(square)
            for square, symbol in enumerate(level.xsb)
            if symbol not in (WALL, "\n")
        )
        self._layers = list(self._board.layers(floor, self._cells(level.targets)))

    def distance(self, player: int, boxes: int) -> int | None:
        """Return the moves of a shortest solution, or None if the state is dead."""
        state = self._board.bit(self._cell(player), self._cells(boxes))
        return next((i for i, layer in enumerate(self._layers) if layer & state), None)

    def plan(self, player: int, boxes: int, moves: int) -> list[int]:
        """Return up to so many moves of a shortest solution, as indices of `ACTIONS`.

        Returns:
            The first moves, ties broken by the order of `ACTIONS`; empty if the state is solved
            or dead.
        """
        distance = self.distance(player, boxes)
        chosen: list[int] = []
        while distance and len(chosen) < moves:
            distance -= 1
            action, player, boxes = self._step_to(distance, player, boxes)
            chosen.append(action)
        return chosen

    def _step_to(self, distance: int, player: int, boxes: int) -> tuple[int, int, int]:
        layer: StateSet = self._layers[distance]
        for action in range(len(ACTIONS)):
            after = move(self._level.walls, player, boxes, self._level.steps[action])
            if layer & self._board.bit(self._cell(after[0]), self._cells(after[1])):
                return action, *after
        raise AssertionError("a state has a neighbour that is one move nearer to solved")

    def _cell(self, square: int) -> int:
        y, x = divmod(square, self._level.stride)
        return (y - 1) * self._width + x - 1

    def _cells(self, squares: int) -> list[int]:
        return [self._cell(i) for i in range(squares.bit_length()) if squares >> i & 1]


@lru_cache(maxsize=64)
def solver(level: Level) -> Solver:
    """Return the solver of a level."""
    return Solver(level)

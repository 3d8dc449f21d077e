"""The solver of Sokoban: optimal lengths, best moves and dead states of a level."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

from ragen_envs.games.sokoban.bitboard import StateSet, bitboard
from ragen_envs.games.sokoban.rules import WALL, Level, move

_KEPT_STATES = 1 << 20
"""Maximum states of a room for the large cache of solvers; beyond it, only the last one is kept."""


class Solver:
    """Answers for every state of one level's room. Use `solver`, which keeps the recent ones.

    The level must have an outer wall. States are given as in `rules.move`. The search goes as far
    as an answer needs, and on from there for the next one; a dead state takes the whole of it.
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
        self._layers = enumerate(self._board.layers(floor, self._cells(level.targets)))
        self._searching = Lock()
        self._found: StateSet = 0
        # Set number k has the found states whose distance has bit k, so few sets hold them all.
        self._digits: list[StateSet] = []

    def distance(self, player: int, boxes: int) -> int | None:
        """Return the moves of a shortest solution, or None if the state is dead."""
        state = self._state(player, boxes)
        with self._searching:
            while not self._found & state:
                number, layer = next(self._layers, (0, 0))
                if not layer:
                    return None
                if number >= 1 << len(self._digits):
                    self._digits.append(0)
                for k in range(number.bit_length()):
                    if number >> k & 1:
                        self._digits[k] |= layer
                self._found |= layer
        return self._known_distance(state)

    def _known_distance(self, state: StateSet) -> int | None:
        if not self._found & state:
            return None
        return sum(1 << k for k, states in enumerate(self._digits) if states & state)

    def plan(self, player: int, boxes: int, moves: int) -> list[int]:
        """Return up to `moves` moves of a shortest solution, as indices of `ACTIONS`.

        Ties are broken by the order of `ACTIONS`. The plan is empty if the state is solved or dead.
        """
        distance = self.distance(player, boxes)
        chosen: list[int] = []
        while distance and len(chosen) < moves:
            distance -= 1
            steps = self._level.steps
            afters = [move(self._level.walls, player, boxes, step) for step in steps]
            distances = [self._known_distance(self._state(*after)) for after in afters]
            chosen.append(distances.index(distance))
            player, boxes = afters[chosen[-1]]
        return chosen

    def _state(self, player: int, boxes: int) -> StateSet:
        return self._board.bit(self._cell(player), self._cells(boxes))

    def _cell(self, square: int) -> int:
        y, x = divmod(square, self._level.stride)
        return (y - 1) * self._width + x - 1

    def _cells(self, squares: int) -> list[int]:
        return [self._cell(i) for i in range(squares.bit_length()) if squares >> i & 1]


def solver(level: Level) -> Solver:
    """Return the solver of a level; see `Solver`."""
    rows = level.xsb.count("\n") + 1
    states = (rows * level.stride) ** (level.boxes.bit_count() + 1)
    return _small(level) if states <= _KEPT_STATES else _large(level)


@lru_cache(maxsize=4096)
def find_plan(level: Level, player: int, boxes: int, moves: int) -> tuple[int, ...]:
    """Return the plan of a level's solver, see `Solver.plan`; recent ones are kept."""
    return tuple(solver(level).plan(player, boxes, moves))


_small = lru_cache(maxsize=64)(Solver)
_large = lru_cache(maxsize=1)(Solver)

"""Sokoban: failures by deadlock, and by a budget that ran out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragen_bench.analysis.failures import Failure
from ragen_bench.analysis.games.base import Reading
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, ReplayedTurn, State
from ragen_bench.analysis.scene import Scene
from ragen_envs.games.sokoban.rules import ACTIONS
from ragen_envs.games.sokoban.solver import Solver, solver


class SokobanReading(Reading):
    """Reads episodes of Sokoban; a state is the player's square and those of the boxes."""

    labels = {
        "deadlock": "A push of this turn left a state that no sequence of moves, however long, "
        "can solve.",
    }

    def state(self, env: Any) -> Hashable:
        """Return the player's square and the squares of the boxes."""
        position: tuple[int, int] = env.position
        return position

    def decisive(self, episode: ReplayedEpisode) -> Failure | None:
        """Return the first turn after which the level could not be solved.

        Every dead state is known: the solver has the distances of all states that can be solved.
        """
        best = solver(episode.instance)
        for step in episode.steps:
            if best.distance(*step.after) is None:
                return Failure("deadlock", step.number)
        return None

    def rest(self, episode: ReplayedEpisode) -> Failure:
        """Return the first turn after which the budget could not hold a solution any more."""
        best = solver(episode.instance)
        late = [step.number for step in episode.steps if self._is_late(episode, step, best)]
        return Failure("out_of_budget", late[0])

    def _is_late(self, episode: ReplayedEpisode, step: ReplayedTurn, best: Solver) -> bool:
        needed = best.distance(*step.after)
        turns = (step.turns_left - 1) * episode.env.budget.max_actions_per_turn
        return needed is None or needed > min(turns, step.actions_left - len(step.actions))

    def actions(self, _episode: ReplayedEpisode) -> Sequence[str]:
        """Return the four directions."""
        return ACTIONS

    def scene(self, episode: ReplayedEpisode, state: State) -> Scene:
        """Return where player, boxes, targets and walls stand."""
        level = episode.instance
        player, boxes = state
        squares = {"me": 1 << player, "box": boxes, "target": level.targets, "wall": level.walls}
        return Scene(
            {name: _places(mask, level.stride) for name, mask in squares.items()},
            corners=(1, len(level.xsb) // level.stride - 1, 1, level.stride - 3),
            coordinates=episode.env.variant.coordinates,
        )


def _places(squares: int, stride: int) -> frozenset[tuple[int, int]]:
    numbers = (i for i in range(squares.bit_length()) if squares >> i & 1)
    return frozenset(divmod(i, stride) for i in numbers)

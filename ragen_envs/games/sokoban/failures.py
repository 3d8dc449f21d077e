"""Sokoban: failures by deadlock, and by a budget that ran out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode, FinishedTurn
from ragen_envs.core.scene import Scene
from ragen_envs.games.sokoban.rules import ACTIONS
from ragen_envs.games.sokoban.solver import Solver, solver


class SokobanFailures(FailureLabeler):
    """Labels episodes of Sokoban; a state is the player's square and those of the boxes."""

    def read_state(self, env: Any) -> Hashable:
        """Return the player's square and the squares of the boxes."""
        position: tuple[int, int] = env.position
        return position

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the first turn after which the level could not be solved.

        Every dead state is known: the solver has the distances of all states that can be solved.
        """
        best = solver(episode.instance)
        for step in episode.steps:
            if best.distance(*step.after) is None:
                return Failure("deadlock", step.number)
        return None

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the first turn after which the budget could not hold a solution any more."""
        best = solver(episode.instance)
        late = [step.number for step in episode.steps if self._is_late(episode, step, best)]
        return Failure("out_of_budget", late[0])

    def _is_late(self, episode: FinishedEpisode, step: FinishedTurn, best: Solver) -> bool:
        needed = best.distance(*step.after)
        turns = (step.turns_left - 1) * episode.env.budget.max_actions_per_turn
        return needed is None or needed > min(turns, step.actions_left - len(step.actions))

    def list_actions(self, _episode: FinishedEpisode) -> Sequence[str]:
        """Return the four directions."""
        return ACTIONS

    def build_scene(self, episode: FinishedEpisode, state: Any) -> Scene:
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

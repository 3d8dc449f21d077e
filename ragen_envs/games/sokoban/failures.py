"""Sokoban: failures by deadlock, and by a budget that ran out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode
from ragen_envs.core.scene import Scene
from ragen_envs.games.sokoban.env import SokobanEnv
from ragen_envs.games.sokoban.rules import ACTIONS
from ragen_envs.games.sokoban.solver import solver


class SokobanFailures(FailureLabeler):
    """Labels episodes of Sokoban; a state is the player's square and those of the boxes."""

    def read_state(self, env: SokobanEnv) -> Hashable:
        return env.position

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the first turn after which the level is dead; the solver knows all such states."""
        best = solver(episode.instance)
        for step in episode.steps:
            if best.distance(*step.after) is None:
                return Failure("deadlock", step.number)
        return None

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the first turn after which the budget could not hold a solution any more."""
        best, per_turn = solver(episode.instance), episode.env.budget.max_actions_per_turn
        for step in episode.steps:
            needed = best.distance(*step.after)
            in_turns = (step.turns_left - 1) * per_turn
            if needed is None or needed > min(in_turns, step.actions_left - len(step.actions)):
                return Failure("out_of_budget", step.number)
        raise AssertionError("a failed episode has a turn after which it could not be won")

    def list_actions(self, _episode: FinishedEpisode) -> Sequence[str]:
        return ACTIONS

    def build_scene(self, episode: FinishedEpisode, state: Any) -> Scene:
        level = episode.instance
        player, boxes = state
        squares = {"me": 1 << player, "box": boxes, "target": level.targets, "wall": level.walls}
        return Scene(
            {
                name: frozenset(
                    divmod(i, level.stride) for i in range(mask.bit_length()) if mask >> i & 1
                )
                for name, mask in squares.items()
            },
            corners=(1, len(level.xsb) // level.stride - 1, 1, level.stride - 3),
            coordinates=episode.env.variant.coordinates,
        )

"""The cube: how near episodes came, and when a solution no longer fitted into the budget."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode, FinishedTurn
from ragen_envs.games.cube.env import CubeEnv
from ragen_envs.games.cube.table import distance


class CubeFailures(FailureLabeler):
    """Labels episodes of the cube; a state is its stickers, whose distance to solved is known."""

    def read_state(self, env: CubeEnv) -> Hashable:
        return env.position

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        late = next(step.number for step in episode.steps if _is_late(episode, step))
        nearest = min(distance(step.after) for step in episode.steps)
        nearer = nearest < episode.instance.optimal_length
        return Failure("out_of_budget" if nearer else "never_nearer", late)

    def list_actions(self, episode: FinishedEpisode) -> Sequence[str]:
        names: tuple[str, ...] = episode.env.variant.notation.names
        return names


def _is_late(episode: FinishedEpisode, step: FinishedTurn) -> bool:
    turns = (step.turns_left - 1) * episode.env.budget.max_actions_per_turn
    left: int = min(turns, step.actions_left - len(step.actions))
    return distance(step.after) > left

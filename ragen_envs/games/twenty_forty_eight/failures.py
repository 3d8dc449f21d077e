"""2048: bad moves, bad luck, and wasted turns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode, FinishedTurn
from ragen_envs.games.twenty_forty_eight.env import TwentyFortyEightEnv
from ragen_envs.games.twenty_forty_eight.rules import ACTIONS
from ragen_envs.games.twenty_forty_eight.solver import Expectimax


class TwentyFortyEightFailures(FailureLabeler):
    """Judges moves by the ratings of the reference player; a state is a board and its turn."""

    def read_state(self, env: TwentyFortyEightEnv) -> Hashable:
        return env.turn, env.packed

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the costliest turn if no move was left, or the last one if only luck was bad."""
        last, losses = episode.steps[-1], find_losses(episode)
        if not any(losses) and all(step.effective for step in episode.steps):
            return Failure("stuck_unlucky" if last.terminated else "budget_unlucky", last.number)
        return Failure("stuck_weak_move", _costliest(losses)) if last.terminated else None

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        for step in episode.steps:
            if not step.effective:
                return Failure("wasted_turn", step.number)
        return Failure("out_of_budget", _costliest(find_losses(episode)))

    def list_actions(self, _episode: FinishedEpisode) -> Sequence[str]:
        return ACTIONS


def find_losses(episode: FinishedEpisode) -> list[int]:
    """Return for each turn by how much its move is rated below the best one; 0 without a move."""
    return [_loss(episode, step) if step.effective else 0 for step in episode.steps]


def _loss(episode: FinishedEpisode, step: FinishedTurn) -> int:
    _, board = step.before
    player: Expectimax = episode.env.variant.player
    ratings = player.rate(board, step.turns_left)
    return max(ratings.values()) - ratings[ACTIONS.index(step.actions[0])]


def _costliest(losses: list[int]) -> int:
    return losses.index(max(losses)) + 1

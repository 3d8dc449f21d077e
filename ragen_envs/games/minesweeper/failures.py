"""Minesweeper: mines that could be avoided, and mines that were bad luck."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode, FinishedTurn
from ragen_envs.games.minesweeper.text import names_of


class MinesweeperFailures(FailureLabeler):
    """Labels episodes of Minesweeper; a state is the player's knowledge.

    A choice is judged by the knowledge at that time, not by the content of the square: by the
    exact chance of success with the best play after it, see `ragen_envs.games.minesweeper.solver`.
    On boards too large for that, it is judged by the exact risk of a mine, see
    `ragen_envs.games.minesweeper.reference`.
    """

    def read_state(self, env: Any) -> Hashable:
        """Return the player's knowledge."""
        known: Hashable = env.knowledge
        return known

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the mine that was opened, and whether it could have been avoided."""
        last = episode.steps[-1]
        # Opening a mine leaves the knowledge unchanged; an open square is not effective.
        if not last.effective or last.after != last.before:
            return None
        return Failure(_cause(episode, last), last.number)

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the first turn that opened nothing; without one the turns suffice."""
        idle = next(step.number for step in episode.steps if not step.effective)
        return Failure("out_of_budget", idle)

    def list_actions(self, episode: FinishedEpisode) -> Sequence[str]:
        """Return the names of the squares."""
        return names_of(episode.instance.height, episode.instance.width)


def _cause(episode: FinishedEpisode, step: FinishedTurn) -> str:
    opening, known = episode.instance, step.before
    player = episode.env.variant.player(opening)
    if not min(player.count_mined(known).values()):
        return "missed_safe_square"
    square = names_of(opening.height, opening.width).index(step.actions[0])
    return "unlucky_guess" if player.is_best(known, square) else "bad_guess"

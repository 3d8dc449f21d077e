"""Minesweeper: mines that could be avoided, and mines that were bad luck."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragen_bench.analysis.failures import Failure
from ragen_bench.analysis.games.base import Reading
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, ReplayedTurn
from ragen_envs.games.minesweeper.text import names_of


class MinesweeperReading(Reading):
    """Reads episodes of Minesweeper; a state is what the player can know.

    A square is judged by what was known when it was opened, not by what lay under it: by the exact
    chance of success with the best play after it, see `ragen_envs.games.minesweeper.solver`. On
    boards
    that are too large for that it is the exact chance of a mine, see
    `ragen_envs.games.minesweeper.reference`.
    """

    labels = {
        "missed_safe_square": "A mine was opened in this turn, though another square was surely "
        "safe.",
        "bad_guess": "A mine was opened in this turn, in which no square was surely safe, though "
        "another one had the better chance of success (in MinesweeperLarge: of no mine).",
        "unlucky_guess": "A mine was opened in this turn, in which no square was surely safe and "
        "none had a better chance of success (in MinesweeperLarge: of no mine).",
        "out_of_budget": "Turns ran out; this was the first one that opened no square.",
    }

    def state(self, env: Any) -> Hashable:
        """Return what the player can know."""
        known: Hashable = env.known
        return known

    def decisive(self, episode: ReplayedEpisode) -> Failure | None:
        """Return the mine that was opened, and whether it could have been avoided."""
        last = episode.steps[-1]
        # What is known stays as it was; an open square would change nothing at all.
        if not last.turn.action_is_effective or last.after != last.before:
            return None
        return Failure(_cause(episode, last), last.number)

    def rest(self, episode: ReplayedEpisode) -> Failure:
        """Return the first turn that opened nothing; without one the turns suffice."""
        idle = next(step.number for step in episode.steps if not step.turn.action_is_effective)
        return Failure("out_of_budget", idle)

    def actions(self, episode: ReplayedEpisode) -> Sequence[str]:
        """Return the names of the squares."""
        return names_of(episode.instance.height, episode.instance.width)


def _cause(episode: ReplayedEpisode, step: ReplayedTurn) -> str:
    opening, known = episode.instance, step.before
    player = episode.env.variant.player(opening)
    if not min(player.mined(known).values()):
        return "missed_safe_square"
    square = names_of(opening.height, opening.width).index(step.actions[0])
    return "unlucky_guess" if player.is_best(known, square) else "bad_guess"

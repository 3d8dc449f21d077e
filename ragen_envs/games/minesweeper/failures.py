"""Minesweeper: mines that could be avoided, and mines that were bad luck."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode
from ragen_envs.games.minesweeper.env import MinesweeperEnv
from ragen_envs.games.minesweeper.text import names_of


class MinesweeperFailures(FailureLabeler):
    """Judges choices by their exact chance of success, or risk; a state is the knowledge."""

    def read_state(self, env: MinesweeperEnv) -> Hashable:
        return env.knowledge

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        last = episode.steps[-1]
        # Opening a mine leaves the knowledge unchanged; an open square is not effective.
        if not last.effective or last.after != last.before:
            return None
        opening, known = episode.instance, last.before
        player = episode.env.variant.player(opening)
        if not min(player.count_mined(known).values()):
            return Failure("missed_safe_square", last.number)
        square = names_of(opening.height, opening.width).index(last.actions[0])
        best = player.is_best(known, square)
        return Failure("unlucky_guess" if best else "bad_guess", last.number)

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        idle = next(step.number for step in episode.steps if not step.effective)
        return Failure("out_of_budget", idle)

    def list_actions(self, episode: FinishedEpisode) -> Sequence[str]:
        return names_of(episode.instance.height, episode.instance.width)

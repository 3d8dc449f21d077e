"""Labels: the one cause of a failed episode."""

from __future__ import annotations

from ragen_bench.analysis.failures import Failure, mostly_nothing, no_op_loop, revisited
from ragen_bench.analysis.games import reading_of
from ragen_bench.analysis.replayed_episode import ReplayedEpisode


def label(episode: ReplayedEpisode) -> Failure | None:
    """Return why an episode failed, or None if it succeeded; see `failures` for the order.

    None too where another package's environment does not tell success.
    """
    if episode.record.success in (True, None):
        return None
    if episode.record.outcome == "context_overflow":
        return Failure("context_overflow", len(episode.steps) + 1)
    game = reading_of(episode.record.env)
    return game.decisive(episode) or mostly_nothing(episode) or _idle(episode) or game.rest(episode)


def _idle(episode: ReplayedEpisode) -> Failure | None:
    excused = reading_of(episode.record.env).excused(episode)
    return no_op_loop(episode, excused) or revisited(episode, excused)

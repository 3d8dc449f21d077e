"""Labels: the one cause of a failed episode."""

from __future__ import annotations

from ragen_bench.analysis.failures import mostly_nothing, no_op_loop, revisited
from ragen_bench.analysis.labelers import find_labeler
from ragen_bench.analysis.replayed_episode import ReplayedEpisode
from ragen_envs.core.failures import Failure


def label(episode: ReplayedEpisode) -> Failure | None:
    """Return why an episode failed, or None if it succeeded; see `failures` for the order.

    None too where another package's environment does not tell success.
    """
    if episode.record.success in (True, None):
        return None
    if episode.record.outcome == "context_overflow":
        return Failure("context_overflow", len(episode.steps) + 1)
    labeler = find_labeler(episode.record.env)
    return (
        labeler.find_decisive_failure(episode)
        or mostly_nothing(episode)
        or _idle(episode)
        or labeler.find_default_failure(episode)
    )


def _idle(episode: ReplayedEpisode) -> Failure | None:
    excused = find_labeler(episode.record.env).find_excused_turns(episode)
    return no_op_loop(episode, excused) or revisited(episode, excused)

"""The failure label of an episode."""

from __future__ import annotations

from ragen_bench.analysis.failures import (
    find_idle_failure,
    find_no_op_loop,
    find_revisited_state,
)
from ragen_bench.analysis.labelers import find_labeler
from ragen_bench.analysis.replayed_episode import ReplayedEpisode
from ragen_envs.core.failures import Failure


def find_failure(episode: ReplayedEpisode) -> Failure | None:
    """Return the cause of an episode's failure; `failures` gives the order of the rules.

    None if it succeeded, or if a third-party environment does not report success.
    """
    if episode.record.success in (True, None):
        return None
    if episode.record.outcome == "context_overflow":
        return Failure("context_overflow", len(episode.steps) + 1)
    labeler = find_labeler(episode.record.env)
    if failure := labeler.find_decisive_failure(episode) or find_idle_failure(episode):
        return failure
    excused = labeler.find_excused_turns(episode)
    return (
        find_no_op_loop(episode, excused)
        or find_revisited_state(episode, excused)
        or labeler.find_default_failure(episode)
    )

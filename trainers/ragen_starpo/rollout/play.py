"""Plays episodes side by side, turn by turn."""

from __future__ import annotations

from collections.abc import Sequence

from ragen_envs.instances import Stream
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.sampler import Sampler
from ragen_starpo.rollout.trajectory import TokenTrajectory


def play(episodes: Sequence[TokenEpisode], sampler: Sampler, seed: int) -> list[TokenTrajectory]:
    """Play episodes to their ends.

    An answer's random numbers follow from the seed and the answer's key alone.

    Args:
        episodes: just begun.
        sampler: that has read nothing.
        seed: of the sampling.

    Returns:
        Their trajectories, in the same order.
    """
    under_way = [episode for episode in episodes if not episode.over]
    while under_way:
        streams = [Stream("rollout", seed, episode.key) for episode in under_way]
        answers = sampler.answers([episode.observed for episode in under_way], streams)
        for episode, sampled in zip(under_way, answers, strict=True):
            episode.take(sampled)
        kept = [row for row, episode in enumerate(under_way) if not episode.over]
        if kept and len(kept) < len(under_way):
            sampler.keep(kept)
        under_way = [under_way[row] for row in kept]
    return [episode.trajectory() for episode in episodes]

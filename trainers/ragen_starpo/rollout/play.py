"""Plays episodes side by side on one decode loop."""

from __future__ import annotations

from collections.abc import Sequence

from ragen_bench.models.hf_decoding import Decoder
from ragen_bench.models.hf_sampling import Answer
from ragen_envs.instances import Stream
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.trajectory import TokenTrajectory, sampled_of


def play(episodes: Sequence[TokenEpisode], decoder: Decoder, seed: int) -> list[TokenTrajectory]:
    """Play episodes to their ends; none waits for the turns of another one.

    An answer's random numbers follow from the seed and the answer's key alone.

    Args:
        episodes: just begun.
        decoder: with nothing under way, and with log-probabilities.
        seed: of the sampling.

    Returns:
        Their trajectories, in the same order.
    """
    under_way: dict[Answer, TokenEpisode] = {}

    def ask(episode: TokenEpisode) -> None:
        if not episode.over:
            stream = Stream("rollout", seed, episode.key)
            under_way[decoder.submit(episode.ids, stream)] = episode

    for episode in episodes:
        ask(episode)
    while under_way:
        for answer in decoder.collect():
            episode = under_way.pop(answer)
            episode.take(sampled_of(answer, decoder.ending))
            ask(episode)
    return [episode.trajectory() for episode in episodes]

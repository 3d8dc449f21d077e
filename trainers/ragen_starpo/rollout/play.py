"""Plays episodes side by side on one decode loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ragen_bench.errors import UserError, described
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.sampling import Generation
from ragen_envs.core.instances import RandomStream
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.failures import LOG, Ended, FailedEpisode
from ragen_starpo.rollout.trajectory import Sampled, sampled_of


def play(
    begins: Sequence[Callable[[], TokenEpisode]], decoder: Decoder, seed: int, retries: int = 0
) -> list[Ended]:
    """Play episodes to their ends; none waits for the turns of another one.

    An answer's random numbers follow from the seed and the answer's key alone.

    Args:
        begins: each begins an episode, and does so anew where it ended in an error.
        decoder: with nothing under way, and with log-probabilities.
        seed: of the sampling.
        retries: how often an episode is begun anew.

    Returns:
        Their trajectories, or what they failed by, in the same order.
    """
    episodes = [_Retried(begin, retries) for begin in begins]
    under_way: dict[Generation, _Retried] = {}

    def ask(episode: _Retried) -> None:
        if waits := episode.waits:
            stream = RandomStream("rollout", seed, waits.key)
            under_way[decoder.submit(waits.ids, stream)] = episode

    for episode in episodes:
        ask(episode)
    while under_way:
        for answer in decoder.collect():
            episode = under_way.pop(answer)
            episode.take(sampled_of(answer, decoder.ending))
            ask(episode)
    return [episode.ended for episode in episodes if episode.ended is not None]


class _Retried:
    """An episode, begun anew where it ends in an error.

    Attributes:
        waits: the episode if it waits for an answer, else None.
        ended: what came of it, once nothing is waited for.
    """

    def __init__(self, begin: Callable[[], TokenEpisode], retries: int) -> None:
        self._begin, self._retries, self._begun_anew = begin, retries, 0
        self.waits: TokenEpisode | None = None
        self.ended: Ended | None = None
        self._go_on(None)

    def take(self, sampled: Sampled) -> None:
        """Step with an answer."""
        self._go_on(sampled)

    def _go_on(self, sampled: Sampled | None) -> None:
        """Begin, or take an answer; after an error begin anew, as often as may be."""
        while True:
            try:
                self._step(sampled)
                return
            except UserError:
                raise
            except Exception as error:  # noqa: BLE001 - of an environment, which may be anyone's
                if self._given_up(described(error)):
                    return
            sampled = None

    def _step(self, sampled: Sampled | None) -> None:
        if self.waits is None or sampled is None:
            episode = self._begin()
        else:
            episode = self.waits
            episode.take(sampled)
        self.waits = episode
        if episode.over:
            self.waits = None
            self.ended = replace(episode.trajectory(), begun_anew=self._begun_anew)

    def _given_up(self, error: str) -> bool:
        self.waits = None
        if self._begun_anew < self._retries:
            self._begun_anew += 1
            LOG.warning("an episode ended in an error and is begun anew: %s", error)
            return False
        self.ended = FailedEpisode(error)
        return True

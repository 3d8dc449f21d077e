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
    """Play episodes to their ends; none waits for another's turns.

    The random numbers of a response depend on the seed and its key alone. `begins` begin an
    episode, again after an error, up to `retries` times. Returns trajectories or failed
    episodes in their order.
    """
    episodes = [_RetriedEpisode(begin, retries) for begin in begins]
    pending: dict[Generation, _RetriedEpisode] = {}

    def ask(episode: _RetriedEpisode) -> None:
        if waits := episode.waiting:
            stream = RandomStream("rollout", seed, waits.key)
            pending[decoder.submit(waits.ids, stream)] = episode

    for episode in episodes:
        ask(episode)
    while pending:
        for answer in decoder.collect():
            episode = pending.pop(answer)
            episode.take(sampled_of(answer, decoder.ending))
            ask(episode)
    return [episode.ended for episode in episodes if episode.ended is not None]


class _RetriedEpisode:
    """An episode that restarts after an error.

    It is `waiting` for a response, or has `ended`; the other one is None.
    """

    def __init__(self, begin: Callable[[], TokenEpisode], retries: int) -> None:
        self._begin, self._retries, self._begun_anew = begin, retries, 0
        self.waiting: TokenEpisode | None = None
        self.ended: Ended | None = None
        self.take(None)

    def take(self, sampled: Sampled | None) -> None:
        """Begin, or step with a response; restart after an error, up to the limit."""
        while True:
            try:
                self._step(sampled)
                return
            except UserError:
                raise
            except Exception as error:  # noqa: BLE001 - of an environment, which may be anyone's
                if self._give_up(described(error)):
                    return
            sampled = None

    def _step(self, sampled: Sampled | None) -> None:
        if self.waiting is None or sampled is None:
            episode = self._begin()
        else:
            episode = self.waiting
            episode.take(sampled)
        self.waiting = episode
        if episode.is_over:
            self.waiting = None
            self.ended = replace(episode.trajectory(), begun_anew=self._begun_anew)

    def _give_up(self, error: str) -> bool:
        self.waiting = None
        if self._begun_anew < self._retries:
            self._begun_anew += 1
            LOG.warning("an episode ended in an error and is begun anew: %s", error)
            return False
        self.ended = FailedEpisode(error)
        return True

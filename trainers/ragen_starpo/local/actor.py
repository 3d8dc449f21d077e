"""The model that samples while another copy of it is trained: it plays episodes side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from torch import Tensor

from ragen_bench.episodes.episode import Episode
from ragen_bench.errors import UserError, described
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import load
from ragen_bench.models.hf.sampling import Generation
from ragen_bench.visible import visible
from ragen_envs.core.instances import RandomStream
from ragen_starpo.engine.computing import DTYPES
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.episodes import EpisodeFactory, Refills, RolloutSpec, rollout_specs
from ragen_starpo.rollout.selection import LOG, Ended, FailedEpisode, complete_groups, first_error
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, sampled_of


class Actor:
    """Plays the rollouts of each iteration.

    Instances, noise and tokens depend on the recipe's seed and the number of the iteration
    alone, so a resumed run plays the same rollouts. With `keeps_cache`, memory for keys and values
    and the CUDA graphs that read it stay between iterations. Weights have the dtype of the
    trainer's passes. `error` is that of the first failed episode of the latest rollouts.
    UserError if the model or an environment is missing, or a response has no room.
    """

    def __init__(
        self, folder: Path, recipe: Recipe, day: str | None = None, *, keeps_cache: bool = False
    ) -> None:
        self.error: str | None = None
        self._loaded = load(str(folder), day)
        self.day = self._loaded.chat.day if self._loaded.chat.uses_day else None
        # Buffers stay in float32, as in the trainer: rounded frequencies would move positions.
        self._loaded.model.float()
        for weight in self._loaded.model.parameters():
            weight.data = weight.data.to(DTYPES[recipe.cluster.dtype])
        self._keeps_cache = keeps_cache
        self._decoder: tuple[Sampling, Decoder] | None = None
        self._envs, self._rollouts, self._seed = recipe.env_cycle, recipe.rollouts, recipe.seed
        loaded = self._loaded
        self.pad, self.tokenizer = loaded.pad, loaded.tokenizer
        self._factory = EpisodeFactory(recipe, loaded.chat, loaded.ends, loaded.context)

    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Sample with these weights from now on."""
        self._loaded.model.load_state_dict(weights)

    def rollouts(
        self, iteration: int, temperature: float, refills: Refills | None = None
    ) -> list[TokenTrajectory]:
        """Play an iteration's rollouts without groups of a failed episode, or raise UserError."""
        specs: list[RolloutSpec] = []
        ended: list[Ended] = []
        whole: list[TokenTrajectory] = []
        following = rollout_specs(self._envs, self._rollouts, self._seed, iteration)
        while following:
            specs += following
            ended += self._play(following, temperature)
            whole = list(complete_groups(ended, [spec.group for spec in specs]).values())
            following = refills.begin_round(whole) if refills else []
        self.error = first_error(ended)
        if not self._keeps_cache:
            self._decoder = None
        return whole

    def _play(self, specs: Sequence[RolloutSpec], temperature: float) -> list[Ended]:
        begun: dict[RolloutSpec, Episode] = {}

        def begin(spec: RolloutSpec) -> TokenEpisode:
            if spec in begun:
                self._factory.give_up(begun.pop(spec))
            begun[spec], on_tokens = self._factory.begin(spec)
            return on_tokens

        sampling = replace(self._factory.sampling, temperature=temperature)
        decoder = self._take_decoder(sampling, len(specs))
        begins = [partial(begin, spec) for spec in specs]
        ended = play(begins, decoder, self._seed, self._rollouts.retries)
        self._decoder = sampling, decoder
        for spec, episode in zip(specs, ended, strict=True):
            if isinstance(episode, TokenTrajectory):
                self._factory.end(begun[spec])
            elif spec in begun:
                self._factory.give_up(begun[spec])
        return ended

    def _take_decoder(self, sampling: Sampling, slots: int) -> Decoder:
        """Return the last decoder as a new one, or a new one; an error while it plays drops it."""
        last, self._decoder = self._decoder, None
        if last is None or last[0] != sampling:
            return Decoder(self._loaded, sampling, slots, log_probs=True)
        decoder = last[1]
        decoder.forget()
        decoder.grow(slots)
        return decoder


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
    """An episode that restarts after an error; it is `waiting` for a response, or `ended`."""

    def __init__(self, begin: Callable[[], TokenEpisode], retries: int) -> None:
        self._begin, self._retries, self._begun_anew = begin, retries, 0
        self.waiting: TokenEpisode | None = None
        self.ended: Ended | None = None
        self.take(None)

    def take(self, sampled: Sampled | None) -> None:
        """Begin, or step with a response; restart after an error, up to the limit."""
        while True:
            try:
                if self.waiting is None or sampled is None:
                    self.waiting = self._begin()
                else:
                    self.waiting.take(sampled)
                if self.waiting.is_over:
                    trajectory = self.waiting.trajectory()
                    self.ended = replace(trajectory, begun_anew=self._begun_anew)
                    self.waiting = None
                return
            except UserError:
                raise
            except Exception as error:  # noqa: BLE001 - of an environment, which may be anyone's
                self.waiting = sampled = None
                if self._begun_anew == self._retries:
                    self.ended = FailedEpisode(described(error))
                    return
                self._begun_anew += 1
                LOG.warning(
                    "an episode ended in an error and is begun anew: %s", visible(described(error))
                )

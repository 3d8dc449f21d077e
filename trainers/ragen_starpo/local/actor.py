"""The model that samples while another copy of it is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ragen_bench.episodes.episode import Episode
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import load
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.episodes import EpisodeFactory, RolloutSpec, rollout_specs
from ragen_starpo.rollout.failures import complete_groups, first_error
from ragen_starpo.rollout.play import play
from ragen_starpo.rollout.trajectory import TokenTrajectory


class Actor:
    """Plays the rollouts of each iteration.

    Instances, noise and tokens depend on the recipe's seed and the number of the iteration
    alone, so a resumed run plays the same rollouts. A published model may have 16 bits, the
    trainer's has 32. `error` is that of the first failed episode of the latest rollouts.
    UserError if the model or an environment is missing, or a response has no room.
    """

    def __init__(self, folder: Path, recipe: Recipe, dtype: torch.dtype = torch.float32) -> None:
        self.error: str | None = None
        self._loaded = load(str(folder))
        self._loaded.model.to(dtype)
        self._envs, self._rollouts, self._seed = recipe.env_cycle, recipe.rollouts, recipe.seed
        loaded = self._loaded
        self._factory = EpisodeFactory(recipe, loaded.chat, loaded.ends, loaded.context)

    @property
    def pad(self) -> int:
        """Id on padding."""
        return self._loaded.pad

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        return self._loaded.tokenizer

    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Sample with these weights from now on."""
        self._loaded.model.load_state_dict(weights)

    def rollouts(self, iteration: int, temperature: float) -> list[TokenTrajectory]:
        """Play the rollouts of an iteration, by instance, without groups of a failed episode.

        UserError if no group is left.
        """
        specs = rollout_specs(self._envs, self._rollouts, self._seed, iteration)
        begun: dict[RolloutSpec, Episode] = {}

        def begin(spec: RolloutSpec) -> TokenEpisode:
            if spec in begun:
                self._factory.give_up(begun.pop(spec))
            begun[spec], on_tokens = self._factory.begin(spec)
            return on_tokens

        sampling = replace(self._factory.sampling, temperature=temperature)
        decoder = Decoder(self._loaded, sampling, len(specs), log_probs=True)
        begins = [partial(begin, spec) for spec in specs]
        ended = play(begins, decoder, self._seed, self._rollouts.retries)
        for spec, episode in zip(specs, ended, strict=True):
            if isinstance(episode, TokenTrajectory):
                self._factory.end(begun[spec])
            elif spec in begun:
                self._factory.give_up(begun[spec])
        self.error = first_error(ended)
        return list(complete_groups(ended, [spec.group for spec in specs]).values())

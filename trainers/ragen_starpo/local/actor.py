"""The model that plays while another copy of it is trained."""

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
from ragen_starpo.rollout.failures import first_error, whole_groups
from ragen_starpo.rollout.play import play
from ragen_starpo.rollout.trajectory import TokenTrajectory


class Actor:
    """Plays the rollouts of each iteration.

    Which instances, what noise and which tokens: all of it follows from the recipe's seed and the
    number of the iteration, so that a resumed run plays what an uninterrupted one plays.

    Args:
        folder: of the model that training begins with.
        recipe: of the run.
        dtype: that it plays in; a published model may have 16 bits, the trainer's has 32.

    Attributes:
        error: of the first of the latest rollouts that failed, None if all ended well.

    Raises:
        UserError: if there is no model, no such environment, or no room for an answer.
    """

    def __init__(self, folder: Path, recipe: Recipe, dtype: torch.dtype = torch.float32) -> None:
        self.error: str | None = None
        self._loaded = load(str(folder))
        self._loaded.model.to(dtype)
        self._envs, self._rollouts, self._seed = recipe.in_turn, recipe.rollouts, recipe.seed
        loaded = self._loaded
        self._factory = EpisodeFactory(recipe, loaded.chat, loaded.ends, loaded.context)

    @property
    def pad(self) -> int:
        """The id that fills up batches."""
        return self._loaded.pad

    @property
    def tokenizer(self) -> Any:
        """The model's."""
        return self._loaded.tokenizer

    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Play with these weights from now on."""
        self._loaded.model.load_state_dict(weights)

    def rollouts(self, iteration: int, temperature: float) -> list[TokenTrajectory]:
        """Play the rollouts of an iteration, those of an instance one after the other.

        Args:
            iteration: from 0 on.
            temperature: of the sampling, the recipe's or an adapted one.

        Returns:
            Their trajectories, without the groups of those that ended in errors.

        Raises:
            UserError: if no group is left.
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
        return list(whole_groups(ended, [spec.group for spec in specs]).values())

"""The model that plays while another copy of it is trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from ragen_bench.episode import Episode, Task
from ragen_bench.errors import UserError
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf_loading import load
from ragen_bench.models.hf_sampling import Ending
from ragen_bench.reasoning import stop_text
from ragen_bench.suites import env_id
from ragen_starpo.chat_tokens import ChatTokens
from ragen_starpo.environment_loop import TokenEpisode
from ragen_starpo.recipe import Recipe
from ragen_starpo.rollout.play import play
from ragen_starpo.rollout.sampler import Sampler
from ragen_starpo.shaping import reward_of
from ragen_starpo.training_envs import training_pool
from ragen_starpo.trajectory import Trajectory

_INSTANCES_A_SEED = 1 << 32


class Actor:
    """Plays the rollouts of each iteration.

    Which instances, what noise and which tokens: all of it follows from the recipe's seed and the
    number of the iteration, so that a resumed run plays what an uninterrupted one plays.

    Args:
        folder: of the model that training begins with.
        recipe: of the run.

    Raises:
        UserError: if there is no model, no such environment, or no room for an answer.
    """

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        self._loaded = load(str(folder))
        # The harness may have given it an attention of its own; the trainer's is this one.
        self._loaded.model.set_attn_implementation("sdpa")
        self._recipe = recipe
        self._envs = [env_id(name) for name in recipe.envs]
        self._chat = ChatTokens(self._loaded.chat)
        self._pool = training_pool(recipe)
        rollouts = recipe.rollouts
        stop = stop_text(recipe.response_format, constrain=False)
        sampling = Sampling(rollouts.temperature, rollouts.max_tokens, stop, recipe.seed)
        self._ending = Ending(self._loaded.tokenizer, self._loaded.ends, sampling)
        self._context = rollouts.context or self._loaded.context or 1 << 20
        if self._context <= rollouts.max_tokens:
            raise UserError(
                f"an answer of {rollouts.max_tokens} tokens leaves no room in a context of "
                f"{self._context}; lower rollouts.max_tokens"
            )

    @property
    def pad(self) -> int:
        """The id that fills up batches."""
        return self._loaded.pad

    def take(self, weights: Mapping[str, Tensor]) -> None:
        """Play with these weights from now on."""
        self._loaded.model.load_state_dict(weights)

    def rollouts(self, iteration: int) -> list[Trajectory]:
        """Play the rollouts of an iteration, those of an instance one after the other.

        Args:
            iteration: from 0 on.
        """
        recipe = self._recipe
        tasks = [
            (group, Task(env, "train", self._index(iteration, group), sample))
            for group, env in enumerate(self._groups())
            for sample in range(recipe.rollouts.samples)
        ]
        episodes = [self._begun(group, task) for group, task in tasks]
        sampler = Sampler(
            self._loaded.model, self._ending, recipe.rollouts.temperature, self._loaded.pad
        )
        played = play([one for _, one in episodes], sampler, recipe.seed)
        for (_, task), (episode, _) in zip(tasks, episodes, strict=True):
            self._pool.give_back(task.env, task.split, episode.env)
        return played

    def _groups(self) -> list[str]:
        count = self._recipe.rollouts.instances
        return [self._envs[number % len(self._envs)] for number in range(count)]

    def _index(self, iteration: int, group: int) -> int:
        within = iteration * self._recipe.rollouts.instances + group
        return self._recipe.seed * _INSTANCES_A_SEED + within

    def _begun(self, group: int, task: Task) -> tuple[Episode, TokenEpisode]:
        env = self._pool.take(task.env, task.split)
        episode = Episode(task, self._recipe.seed, env, self._recipe.response_format)
        shaped = reward_of(self._recipe.shaping, episode)
        on_tokens = TokenEpisode(episode, group, self._chat, self._ending, self._context, shaped)
        return episode, on_tokens

"""The episodes that a run plays, and a factory of them on tokens, the same for every driver."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ragen_bench.environments import AnyEnv
from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.runner import tasks_of
from ragen_bench.errors import UserError
from ragen_bench.models.base import Sampling
from ragen_bench.models.chat import Chat
from ragen_bench.models.hf.sampling import Ending
from ragen_bench.models.reasoning import stop_text
from ragen_bench.suites import EnvPool, env_id, select
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import RolloutSettings
from ragen_starpo.rollout.chat_tokens import ChatTokens
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.own_reward import OwnReward
from ragen_starpo.rollout.shaping import reward_of
from ragen_starpo.rollout.training_envs import training_pool

_INSTANCES_A_SEED = 1 << 32
_NO_CONTEXT = 1 << 20
"""Stands for the context of a model whose configuration names none."""


@dataclass(frozen=True)
class RolloutSpec:
    """One episode of an iteration.

    Attributes:
        group: equal for rollouts of the same instance in one iteration.
        task: the instance, and which rollout of it.
        seed: that its noise and its answers follow from.
    """

    group: int
    task: Task
    seed: int

    def stream(self, key: str) -> tuple[str | int, ...]:
        """Return the labels of an answer's random numbers; held-out ones are the harness's.

        Args:
            key: of the answer.
        """
        kind = "rollout" if self.task.split == "train" else "sampling"
        return kind, self.seed, key


def rollout_specs(
    envs: Sequence[str], rollouts: RolloutSettings, seed: int, iteration: int
) -> list[RolloutSpec]:
    """Return the rollouts of an iteration, those of an instance one after the other.

    Instances and noise follow from the seed and the number of the iteration alone, so that a
    resumed run plays what an uninterrupted one plays.

    Args:
        envs: ids, taken in turn; one that is named twice has twice as many instances.
        rollouts: how many instances, and rollouts of each.
        seed: of the run.
        iteration: from 0 on.
    """
    names = [env_id(env) for env in envs]
    played, first = iteration * rollouts.instances, seed * _INSTANCES_A_SEED
    # Environments go on where the iteration before has ended, so that none has more for long.
    numbers = range(played, played + rollouts.instances)
    return [
        RolloutSpec(group, Task(names[number % len(names)], "train", first + number, sample), seed)
        for group, number in enumerate(numbers)
        for sample in range(rollouts.samples)
    ]


def held_out_specs(envs: Sequence[str], instances: int) -> list[RolloutSpec]:
    """Return the episodes of a validation, each a group of its own, as the harness plays them.

    Args:
        envs: ids.
        instances: of the val split, of each environment.
    """
    tasks = tasks_of(select(None, list(envs), instances), "val", 1)
    return [RolloutSpec(group, task, 0) for group, task in enumerate(tasks)]


class EpisodeFactory:
    """Makes episodes on a model's tokens, and reuses their environments.

    Train instances are played in the recipe's environments, val instances in the suite's own.

    Args:
        recipe: of the run.
        chat: of the model.
        ends: ids of the tokens that end a turn.
        context: tokens of the model's context, if its configuration names them.

    Attributes:
        sampling: of the answers of rollouts.
        ending: when an answer is over.

    Raises:
        UserError: if the chat template cannot be trained with, an answer has no room, or there is
            no such reward of the user's own.
    """

    def __init__(
        self, recipe: Recipe, chat: Chat, ends: frozenset[int], context: int | None
    ) -> None:
        self._chat = ChatTokens(chat)
        self._format, self._shaping = recipe.response_format, recipe.shaping
        self._own = OwnReward(recipe.shaping.python) if recipe.shaping.python else None
        self._history = recipe.rollouts.history
        if self._history is None:
            self._chat.check()
        self._pools = {
            "train": training_pool(recipe.envs, self._format, recipe.environment),
            "val": EnvPool(self._format),
        }
        rollouts, stop = recipe.rollouts, stop_text(self._format, constrain=False)
        self.sampling = Sampling(rollouts.temperature, rollouts.max_tokens, stop, recipe.seed)
        self.ending = Ending(chat.tokenizer, ends, self.sampling)
        self._context = rollouts.context or context or _NO_CONTEXT
        if self._context <= rollouts.max_tokens:
            raise UserError(
                f"an answer of {rollouts.max_tokens} tokens leaves no room in a context of "
                f"{self._context}; lower rollouts.max_tokens"
            )

    def begin(self, spec: RolloutSpec) -> tuple[Episode, TokenEpisode]:
        """Return an episode that has just begun, as it is recorded and on tokens."""
        task = spec.task
        env = self._pools[task.split].take(task.env, task.split)
        try:
            episode = Episode(task, spec.seed, env, self._format, self._history)
            # Held-out episodes are scored, not learned from.
            own = self._own if task.split == "train" else None
            shaped = reward_of(self._shaping, episode, own)
            on_tokens = TokenEpisode(
                episode, spec.group, self._chat, self.ending, self._context, shaped
            )
        except BaseException:
            _close(env)
            raise
        return episode, on_tokens

    def end(self, episode: Episode) -> None:
        """Let later episodes have its environment."""
        self._pools[episode.task.split].give_back(episode.task.env, episode.task.split, episode.env)

    def give_up(self, episode: Episode) -> None:
        """Close its environment, which no other episode has, as it may have raised an error."""
        _close(episode.env)


def _close(env: AnyEnv) -> None:
    # It is told why the episode ended; an environment that cannot be closed adds nothing.
    with suppress(Exception):
        env.close()

"""The episodes of a run, their factory on tokens, and their environments, for any driver."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import torch

from ragen_bench.analysis.failures import find_labeler
from ragen_bench.environments import AnyEnv
from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.runner import tasks_of
from ragen_bench.errors import UserError
from ragen_bench.models.base import Sampling
from ragen_bench.models.chat import Chat
from ragen_bench.models.hf.sampling import Ending
from ragen_bench.models.reasoning import stop_text
from ragen_bench.suites import EnvPool, env_id, make_text_env, select
from ragen_envs.core.failures import FailureLabeler
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.games.frozen_lake.rules import Slip
from ragen_starpo.algorithms.masked import group_index, group_std
from ragen_starpo.algorithms.registry import ESTIMATORS
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.run_sections import EnvironmentSettings
from ragen_starpo.recipes.sections import RolloutSettings
from ragen_starpo.rollout.environment_loop import ChatTokens, TokenEpisode
from ragen_starpo.rollout.own_reward import OwnReward
from ragen_starpo.rollout.shaping import make_reward
from ragen_starpo.rollout.trajectory import TokenTrajectory, scores_of

INSTANCES_A_SEED = 1 << 32
_NO_CONTEXT = 1 << 20
"""Context of a model whose configuration names none."""


@dataclass(frozen=True)
class RolloutSpec:
    """An episode: number of its instance in the iteration, and seed of noise and responses."""

    group: int
    task: Task
    seed: int

    def stream(self, key: str) -> tuple[str | int, ...]:
        """Return the labels of a response's random numbers; held-out ones are the harness's."""
        kind = "rollout" if self.task.split == "train" else "sampling"
        return kind, self.seed, key


def rollout_specs(
    envs: Sequence[str], rollouts: RolloutSettings, seed: int, iteration: int
) -> list[RolloutSpec]:
    """Return the rollouts of an iteration, by instance.

    Instances and noise depend on the seed and the number of the iteration alone, so a resumed
    run plays the same rollouts. Environments are taken in turn; an id that is named twice has
    twice as many instances.
    """
    names = [env_id(env) for env in envs]
    played, first = iteration * rollouts.instances, seed * INSTANCES_A_SEED
    # The cycle of environments continues from the iteration before, so shares stay exact.
    numbers = range(played, played + rollouts.instances)
    return [
        RolloutSpec(group, Task(names[number % len(names)], "train", first + number, sample), seed)
        for group, number in enumerate(numbers)
        for sample in range(rollouts.samples)
    ]


def held_out_specs(envs: Sequence[str], instances: int) -> list[RolloutSpec]:
    """Return the episodes of a validation, each a group of its own, as the harness plays them."""
    tasks = tasks_of(select(None, list(envs), instances), "val", 1)
    return [RolloutSpec(group, task, 0) for group, task in enumerate(tasks)]


def count_concurrent(recipe: Recipe) -> int:
    """Return the maximum number of episodes that are played at once by verl's processes."""
    held_out = len(recipe.envs) * recipe.validation.instances if recipe.validation.every else 0
    return max(recipe.rollouts.instances * recipe.rollouts.samples, held_out)


class EpisodeFactory:
    """Makes episodes on a model's tokens, and reuses their environments.

    Train instances use the recipe's environments, val instances the suite's own. `ends` are the
    ids that end a turn; `context` is None if the model's configuration does not name one.
    UserError if the chat template is not trainable, a response has no room, the user's own
    reward does not exist, or as `find_state_readers` raises it.
    """

    def __init__(
        self, recipe: Recipe, chat: Chat, ends: frozenset[int], context: int | None
    ) -> None:
        ends = chat.add_end(ends)
        self._chat = ChatTokens(chat, ends)
        self._format, self._shaping = recipe.response_format, recipe.shaping
        self._own = OwnReward(recipe.shaping.python) if recipe.shaping.python else None
        self._read_states = find_state_readers(recipe)
        self._history = recipe.rollouts.history
        if self._history is None:
            self._chat.check()
        self._pools = {
            "train": training_pool(recipe.envs, self._format, recipe.environment),
            "val": EnvPool(self._format),
        }
        rollouts, stop = recipe.rollouts, stop_text(self._format, constrain=False)
        self.sampling = Sampling(rollouts.temperature, rollouts.max_tokens, stop, recipe.seed)
        self.ending = Ending(chat.tokenizer, ends, self.sampling, chat.find_end_text(ends))
        self._context = rollouts.context or context or _NO_CONTEXT
        if self._context <= rollouts.max_tokens:
            raise UserError(
                f"an answer of {rollouts.max_tokens} tokens leaves no room in a context of "
                f"{self._context}; lower rollouts.max_tokens"
            )

    def begin(self, spec: RolloutSpec) -> tuple[Episode, TokenEpisode]:
        """Return an episode that has just begun, as a record and on tokens."""
        task = spec.task
        env = self._pools[task.split].take(task.env, task.split)
        try:
            episode = Episode(task, spec.seed, env, self._format, self._history)
            # Held-out episodes are scored, not learned from.
            own = self._own if task.split == "train" else None
            shaped = make_reward(self._shaping, episode, own, self.sampling.max_tokens)
            on_tokens = TokenEpisode(
                *(episode, spec.group, self._chat, self.ending, self._context, shaped),
                self._read_states.get(task.env, lambda _: None),
            )
        except BaseException:
            _close(env)
            raise
        return episode, on_tokens

    def end(self, episode: Episode) -> None:
        """Let later episodes use its environment."""
        self._pools[episode.task.split].give_back(episode.task.env, episode.task.split, episode.env)

    def give_up(self, episode: Episode) -> None:
        """Close its environment, which may be in an invalid state after an error."""
        _close(episode.env)


def find_state_readers(recipe: Recipe) -> Mapping[str, Callable[[AnyEnv], Hashable]]:
    """Return the functions that read the environments' states, by full id.

    It is empty unless the estimator compares states. UserError if a game does not define its own:
    the default is equal in all rollouts of an instance.
    """
    estimator = ESTIMATORS.find(recipe.advantage.estimator)
    if not estimator.takes("states"):
        return {}
    readers = {}
    for env in map(env_id, recipe.envs):
        labeler = find_labeler(env)
        if type(labeler).read_state is FailureLabeler.read_state:
            raise UserError(
                f"{estimator.name} compares states, and the failure labeler of {env} does not "
                "define read_state; define it, or choose another advantage.estimator"
            )
        readers[env] = labeler.read_state
    return readers


def _close(env: AnyEnv) -> None:
    # The error of the episode is reported already; one of closing adds nothing.
    with suppress(Exception):
        env.close()


def training_pool(
    envs: Sequence[str], response_format: ResponseFormat, changes: EnvironmentSettings
) -> EnvPool:
    """Return a pool of environments, each made once; UserError if it is missing or unsuited."""
    for name in envs:
        training_env(env_id(name), "train", response_format, changes)
    return EnvPool(response_format, partial(training_env, changes=changes))


def training_env(
    env: str, split: Split, response_format: ResponseFormat, changes: EnvironmentSettings
) -> AnyTextEnv:
    """Return an environment of the suite with another budget or slip; UserError if it has none.

    It keeps the suite's train instances, which depend on the variant's name; held-out ones
    exist for the suite's variants alone.
    """
    made = make_text_env(env, split, response_format)
    if changes == EnvironmentSettings():
        return made
    variant = made.variant
    try:
        if changes.actions_per_turn is not None:
            budget, actions = variant.budget, changes.actions_per_turn
            turns = max(budget.max_turns, -(-budget.max_actions // actions))
            budget = replace(budget, max_turns=turns, max_actions_per_turn=actions)
            variant = replace(variant, budget=budget)
        if changes.slip is not None:
            variant = replace(variant, slip=Slip(*changes.slip))
    except (TypeError, ValueError) as error:
        raise UserError(f"{env} cannot have this [environment]: {error}") from None
    changed = type(made)(variant, split, response_format, made.render_mode)
    changed.oracle_info = made.oracle_info
    return changed


FIRST_EXTRA = INSTANCES_A_SEED // 2
"""Number in its seed of the first further instance; those of iterations are below it."""


class Refills:
    """The rounds of further prompts of an iteration (DAPO, arXiv 2503.14476, section 3.2).

    A group whose returns have a standard deviation of at most `filter.eps` is replaced by one of
    another instance of its environment, in at most `rounds` rounds. Instances depend on the seed,
    the iteration and the number of earlier replacements alone, so a resumed run plays the same
    ones. `replaced` are the numbers of replaced groups.
    """

    def __init__(self, recipe: Recipe, iteration: int, rounds: int) -> None:
        self.replaced: set[int] = set()
        self._rounds_left = rounds
        self._rollouts, self._seed, self._eps = recipe.rollouts, recipe.seed, recipe.filter.eps
        self._first = iteration * recipe.rollouts.instances * recipe.most_refills

    def begin_round(self, played: Sequence[TokenTrajectory]) -> list[RolloutSpec]:
        """Return the rollouts of the next round, given all complete groups so far; none to end."""
        if not self._rounds_left:
            return []
        self._rounds_left -= 1
        index, count = group_index(torch.tensor([rollout.group for rollout in played]))
        is_flat = (group_std(scores_of(played), index, count) <= self._eps)[index].tolist()
        flat = {
            rollout.group: rollout.record.env
            for rollout, is_in_flat in zip(played, is_flat, strict=True)
            if is_in_flat and rollout.group not in self.replaced
        }
        extra = len(self.replaced)
        self.replaced.update(flat)
        first = self._seed * INSTANCES_A_SEED + FIRST_EXTRA + self._first
        return [
            RolloutSpec(
                self._rollouts.instances + number,
                Task(env, "train", first + number, sample),
                self._seed,
            )
            for number, env in enumerate(flat.values(), extra)
            for sample in range(self._rollouts.samples)
        ]

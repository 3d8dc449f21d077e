"""A synchronous vector environment for text games, with Gymnasium's vector API.

It behaves like `gymnasium.vector.SyncVectorEnv` and is faster: the batch of infos is built in
arrays, without one dictionary per environment. Every key of `infos` has an array with one entry per
environment, and `_key` the mask of the environments that have the key; the other entries are 0,
False or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ragen_envs.core.arguments import vector_options, vector_seeds
from ragen_envs.core.text_env import AnyTextEnv, TextEnv
from ragen_envs.core.text_game import Info, ResetOptions
from ragen_envs.making import Maker
from ragen_envs.registration import is_registered

Observations = tuple[str, ...]
Array = NDArray[Any]
Mask = NDArray[np.bool_]


def make(
    env_id: str,
    num_envs: int = 1,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    observation: str = "text",
    **kwargs: object,
) -> TextVectorEnv | SyncVectorEnv:
    """Return a vector environment of an id of the suite, for `gymnasium.make_vec`.

    Args:
        env_id: Registered id, such as "ragen/Sokoban-v0".
        num_envs: Number of environments, at least 1.
        autoreset_mode: Autoreset mode, see `TextVectorEnv`.
        observation: "text"; "array" or "image" for Gymnasium's `SyncVectorEnv` of `ArrayEnv`s or
            `ImageEnv`s.
        kwargs: Arguments of the game's class, `variant` included.
    """
    maker: Callable[[], Any] = partial(Maker(env_id), observation=observation, **kwargs)
    if observation in ("array", "image"):
        return SyncVectorEnv([maker] * num_envs, autoreset_mode=autoreset_mode)
    return TextVectorEnv([maker] * num_envs, autoreset_mode)


class TextVectorEnv(VectorEnv[Observations, Sequence[str], Array]):
    """Several text games; each step takes one response per game.

    Args:
        env_fns: Functions that make the games: `TextEnv`s with equal spaces, without wrappers.
        autoreset_mode: Treatment of ended episodes, an `AutoresetMode` or its value. NEXT_STEP
            resets in the next step, whose response is ignored. SAME_STEP resets in the step that
            ended it, whose last observation and info are `final_obs` and `final_info`. DISABLED
            leaves the reset to `reset(options={"reset_mask": mask})`.

    Raises:
        ValueError: There are no games, their spaces differ, or the mode is unknown.
        TypeError: A game is wrapped or not a `TextEnv`.
    """

    envs: tuple[AnyTextEnv, ...]
    """The games. Reset and step them through the vector environment only."""

    def __init__(
        self,
        env_fns: Iterable[Callable[[], AnyTextEnv]],
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.envs = tuple(make_env() for make_env in env_fns)
        self.num_envs = len(self.envs)
        for env in self.envs:
            if not isinstance(env, TextEnv):
                raise TypeError(
                    f"{env} is not a TextEnv: put wrapped and other environments into "
                    "gymnasium.vector.SyncVectorEnv"
                )
        if not self.envs:
            raise ValueError("there must be at least one environment: num_envs >= 1")
        first = self.envs[0]
        if any(env.observation_space != first.observation_space for env in self.envs):
            raise ValueError("the observation spaces differ: take games of the same symbols")
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.single_observation_space = first.observation_space
        self.single_action_space = first.action_space
        self.observation_space = batch_space(first.observation_space, self.num_envs)
        self.action_space = batch_space(first.action_space, self.num_envs)
        self._plays = [env.play_turn for env in self.envs]
        self._infos = VectorInfos(self.envs)
        self._observations: Observations = ()
        self._over: Mask = np.zeros(self.num_envs, dtype=np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: ResetOptions | None = None,
    ) -> tuple[Observations, Info]:
        """Start an episode in every environment.

        Args:
            seed: Seeds as in `TextEnv.reset`: an int s for the seeds s + i, a sequence of one per
                environment, or None to draw each from its `np_random`.
            options: "noise_seed" as in `TextEnv.reset`: one int for all environments, or a
                sequence of one per environment. "reset_mask", a bool array, selects the
                environments to reset; all if it is missing. The dictionary is not changed.

        Returns:
            The observations and `infos`, in which the environments that were not reset are masked.

        Raises:
            ClosedEnvironmentError: The environment is closed.
            ResetNeeded: The mask leaves out environments without an episode.
            ValueError: An unknown option, a wrong number of seeds, noise seeds or entries of
                the mask, a noise seed that is not an int of at least 0, or a seed that is a bool.
            gymnasium.error.Error: Another seed that is not an int of at least 0.
            TypeError: Options that are not a dictionary, or a mask that is not an array of
                bool. No environment has been reset then.
        """
        self._need_open()
        seeds = vector_seeds(seed, self.num_envs)
        mask, noise_seeds = vector_options(options, self.num_envs)
        if not self._observations and not mask.all():
            raise ResetNeeded("the first reset() is of all environments, without a 'reset_mask'")
        observations = list(self._observations) or [""] * self.num_envs
        self._observations = ()  # if a game fails to start, step asks for a reset of all
        which = np.flatnonzero(mask).tolist()
        for i in which:
            observations[i] = self._start(i, seeds[i], noise_seeds[i])
        self._observations = tuple(observations)
        self._over = self._over & ~mask
        return self._observations, self._infos.of(which)

    def step(
        self, actions: Iterable[str]
    ) -> tuple[Observations, NDArray[np.float64], Mask, Mask, Info]:
        """Take one response per environment.

        Args:
            actions: One str per environment. In mode NEXT_STEP the response of an ended episode is
                ignored, and may be anything.

        Returns:
            Observations, rewards, terminations, truncations and `infos`, all of them new objects.

        Raises:
            ClosedEnvironmentError: The environment is closed.
            ResetNeeded: `reset` has not been called, or, in mode DISABLED, an episode is over.
            ValueError: The number of responses is wrong.
            TypeError: A response is not a str. No environment has been stepped then.
        """
        answers = self._check_answers(actions)
        if not self._over.any():
            turns = [play(answer) for play, answer in zip(self._plays, answers, strict=True)]
        elif self.autoreset_mode is AutoresetMode.DISABLED:
            ended = np.flatnonzero(self._over).tolist()
            raise ResetNeeded(
                f"the episodes of environments {ended} are over: "
                "call reset(options={'reset_mask': terminations | truncations}) first"
            )
        else:
            turns = [
                (self._start(i), 0.0, False, False) if over else self._plays[i](answers[i])
                for i, over in enumerate(self._over.tolist())
            ]
        self._observations, rewards, terminated, truncated = zip(*turns, strict=True)
        terminations = np.fromiter(terminated, np.bool_, self.num_envs)
        truncations = np.fromiter(truncated, np.bool_, self.num_envs)
        self._over = terminations | truncations
        final: Info = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._over.any():
            final = self._restart()
        infos = self._infos.all()
        infos.update(final)
        reward_array = np.fromiter(rewards, np.float64, self.num_envs)
        return self._observations, reward_array, terminations, truncations, infos

    def _restart(self) -> Info:
        """Start new episodes where one is over; return the final observations and infos."""
        ended, over = np.flatnonzero(self._over).tolist(), self._over
        final = np.full(self.num_envs, None)
        info = self._infos.of(ended)
        observations = list(self._observations)
        for i in ended:
            final[i], observations[i] = observations[i], self._start(i)
        self._observations = tuple(observations)
        self._over = np.zeros(self.num_envs, dtype=np.bool_)
        return {
            "final_obs": final,
            "_final_obs": over.copy(),
            "final_info": info,
            "_final_info": over,
        }

    def _start(self, i: int, seed: int | None = None, noise_seed: int | None = None) -> str:
        observation = self.envs[i].start_episode(seed, noise_seed)
        self._infos.begin(i)
        return observation

    def _check_answers(self, actions: Iterable[str]) -> Sequence[str]:
        self._need_open()
        if not self._observations:
            raise ResetNeeded("call reset() before step()")
        if isinstance(actions, str):
            raise TypeError("actions are one str for each environment, got a single str")
        answers = list(actions)
        if len(answers) != self.num_envs:
            raise ValueError(
                f"{self.num_envs} environments need as many answers, got {len(answers)}"
            )
        if {*map(type, answers)} != {str}:
            for i, (answer, over) in enumerate(zip(answers, self._over, strict=True)):
                if not over and not isinstance(answer, str):
                    raise TypeError(
                        f"an answer is a str, got {type(answer).__name__} for environment {i}"
                    )
        return answers

    def _need_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the vector environment is closed: make a new one")

    def render(self) -> tuple[Any, ...]:
        """Return the present state of every environment, as `TextEnv.render` does.

        Raises:
            ResetNeeded: `reset` has not been called.
        """
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **_kwargs: object) -> None:
        """Close the environments; the arguments, for processes, are not used."""
        for env in self.envs:
            env.close()

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators of the environments, from which seeds are drawn where none are given."""
        return tuple(env.np_random for env in self.envs)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The last seed of each environment."""
        return tuple(env.np_random_seed for env in self.envs)

    def call(self, name: str, *args: object, **kwargs: object) -> tuple[Any, ...]:
        """Call a method of every environment, or read an attribute, such as "best_actions".

        Args:
            name: Name of the method or attribute.
            args: Arguments of the method, equal for all environments.
            kwargs: Keyword arguments of the method.

        Raises:
            ValueError: The name is "reset", "step" or "close".
            AttributeError: The environments lack the attribute.
        """
        if name in ("reset", "step", "close"):
            raise ValueError(f"call {name}() of the vector environment, not of its environments")
        attributes = [env.get_wrapper_attr(name) for env in self.envs]
        return tuple(a(*args, **kwargs) if callable(a) else a for a in attributes)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every environment."""
        return self.call(name)

    def set_attr(self, name: str, values: object) -> None:
        """Set an attribute of every environment.

        Args:
            name: Name of the attribute.
            values: List or tuple of one value per environment, or one value for all.

        Raises:
            ValueError: The number of values is wrong.
        """
        values = values if isinstance(values, list | tuple) else [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(f"{self.num_envs} environments need as many values, got {len(values)}")
        for env, value in zip(self.envs, values, strict=True):
            env.set_wrapper_attr(name, value)


class VectorInfos:
    """Collects infos from the environments' states. Returned arrays are never changed later."""

    def __init__(self, envs: Sequence[AnyTextEnv]) -> None:
        self._envs = envs
        # Whether success is all that their scores say, which saves a call for each.
        self._success_is_score = all(
            type(env).compute_score is TextEnv.compute_score for env in envs
        )
        default = TextEnv.compute_extra_info
        self._detailed = [
            i for i, env in enumerate(envs) if type(env).compute_extra_info is not default
        ]
        # Values that are constant in an episode are written at its start and copied at each step.
        self._columns: dict[str, Array] = {}
        self._present: dict[str, Mask] = {}

    def begin(self, i: int) -> None:
        """Write the constants of the episode that environment i has started."""
        env = self._envs[i]
        values = {**env.instance_info, **env.compute_extra_info()}
        for key in values.keys() - self._columns.keys():
            self._columns[key] = _blank(len(self._envs), np.array([values[key]]).dtype)
            self._present[key] = np.zeros(len(self._envs), np.bool_)
        for key, array in self._columns.items():
            present = self._present[key][i] = key in values
            array[i] = values[key] if present else _blank(1, array.dtype)[0]

    def all(self) -> Info:
        """Return the infos of all environments."""
        infos = self._turn_columns(self._envs)
        masks = np.ones((len(infos), len(self._envs)), dtype=np.bool_)
        infos.update({f"_{key}": mask for key, mask in zip(infos, masks, strict=True)})
        for key, array in self._columns.items():
            infos[key], infos[f"_{key}"] = array.copy(), self._present[key].copy()
        return infos

    def of(self, which: list[int]) -> Info:
        """Return the infos of the environments with the given indices; the others are masked."""
        columns = self._turn_columns([self._envs[i] for i in which])
        columns.update({key: array[which] for key, array in self._columns.items()})
        infos = {}
        for key, column in columns.items():
            infos[key] = _blank(len(self._envs), column.dtype)
            infos[key][which] = column
            infos[f"_{key}"] = np.zeros(len(self._envs), np.bool_)
            infos[f"_{key}"][which] = self._present[key][which] if key in self._present else True
        return infos

    def _turn_columns(self, envs: Sequence[AnyTextEnv]) -> dict[str, Array]:
        """Return the values that may change in a turn, one array per key.

        The games' extra infos are written into their own columns.
        """
        for i in self._detailed:
            for key, value in self._envs[i].compute_extra_info().items():
                self._columns[key][i] = value
        n = len(envs)
        forms, _, actions, examples = zip(*[env.parsed for env in envs], strict=True)
        success = np.fromiter([env.success for env in envs], np.bool_, n)
        if self._success_is_score:
            score = success.astype(np.float64)
        else:
            score = np.fromiter([env.compute_score() for env in envs], np.float64, n)
        effective = [env.action_is_effective for env in envs]
        return {
            "success": success,
            "score": score,
            "format_is_valid": np.fromiter(forms, np.bool_, n),
            "action_is_valid": np.fromiter(actions, np.bool_, n),
            "action_is_effective": np.fromiter(effective, np.bool_, n),
            "answer_is_example": np.fromiter(examples, np.bool_, n),
            "legal_actions": np.fromiter([env.legal_actions for env in envs], np.object_, n),
            "turn": np.fromiter([env.turn for env in envs], np.int64, n),
            "actions_left": np.fromiter([env.actions_left for env in envs], np.int64, n),
        }


def _blank(count: int, dtype: np.dtype[Any]) -> Array:
    """Return an array of 0, False or None."""
    return np.zeros(count, dtype) if dtype.kind in "biuf" else np.full(count, None)


def __getattr__(name: str) -> Callable[..., TextVectorEnv | SyncVectorEnv]:
    """Return the function that makes vector environments of an id."""
    if is_registered(name):
        return partial(make, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

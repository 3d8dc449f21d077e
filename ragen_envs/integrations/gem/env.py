"""A text environment of Gymnasium's registry as GEM's environments are."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from gem import Env  # type: ignore[import-untyped]

import ragen_envs  # noqa: F401  (its ids)
from ragen_envs.core.instances import RandomStream, Split
from ragen_envs.core.policies import random_answer
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.bridging import Episode

_BOUND = 1 << 62
"""Of the seeds that are drawn."""


class GemEnv(Env):  # type: ignore[misc]
    """One environment; answers are whole texts in its response format.

    Args:
        env: an id of Gymnasium's registry, or MODULE:ID to import the module that registers it.
        split: where instances come from.
        response_format: the form of the answers.
        noise_seed: which noise each episode has; the members of a group differ in it alone.
        seed: the instance of the first `reset` without a seed; `gem.make_vec` gives one.
        options: further arguments of the environment.

    Attributes:
        episode: the present one.

    Raises:
        ValueError: for an argument that is none of these.
    """

    def __init__(
        self,
        env: str,
        split: Split = "train",
        response_format: ResponseFormat = "think",
        noise_seed: int = 0,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        self.episode = Episode(env, split, response_format, **options)
        self._arguments: dict[str, Any] = {
            "env": env,
            "split": split,
            "response_format": response_format,
            "noise_seed": noise_seed,
            "seed": seed,
            **options,
        }
        self._noise_seed, self._first_seed = noise_seed, seed
        self._random_answers = 0

    def reset(
        self, seed: int | None = None, *, noise_seed: int | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode; Python's and NumPy's global generators stay as they are.

        Args:
            seed: which instance of the split. Without one, that of the constructor is the first,
                and further ones are drawn: the same ones after the same seed.
            noise_seed: which noise, in the place of the constructor's.

        Returns:
            The first observation, and what may be told of the episode, see `Episode.info`.

        Raises:
            ValueError: for a seed or noise_seed that is not an int of at least 0.
        """
        chosen = self._next_seed() if seed is None else seed
        noise = self._noise_seed if noise_seed is None else noise_seed
        return self.episode.reset(chosen, noise), self.episode.info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one answer.

        Returns:
            Observation, reward, terminated, truncated, and what may be told.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str.
        """
        turn = self.episode.step(action)
        return turn.observation, turn.reward, turn.terminated, turn.truncated, turn.info

    def sample_random_action(self) -> str:
        """Return an answer in form with random actions.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            NotImplementedError: for an environment of another package, which lists none.
        """
        inner = self.episode.env.unwrapped
        if not isinstance(inner, TextEnv):
            raise NotImplementedError(f"{self._arguments['env']} has no random player")
        labels = self._arguments["seed"] or 0, self._arguments["noise_seed"], self._random_answers
        self._random_answers += 1
        return random_answer(inner, RandomStream("gem", *labels))

    def spawn(self, same_state: bool = False, **kwargs: Any) -> GemEnv:
        """Return another environment with the same arguments.

        Args:
            same_state: whether it goes on where this one is; no argument is changed then.
            kwargs: arguments of the constructor to change, such as `noise_seed`.

        Raises:
            ValueError: for arguments that are refused, or beside `same_state`.
        """
        if not same_state:
            return GemEnv(**{**self._arguments, **kwargs})
        if kwargs:
            raise ValueError(f"with same_state nothing is changed, got {sorted(kwargs)}")
        return deepcopy(self)

    def close(self) -> None:
        """Free what the environment holds; it is not used again."""
        self.episode.close()

    def _next_seed(self) -> int:
        seed, self._first_seed = self._first_seed, None
        return int(self.episode.env.np_random.integers(_BOUND)) if seed is None else seed

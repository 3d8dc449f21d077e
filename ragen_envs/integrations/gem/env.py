"""A text environment of Gymnasium's registry with GEM's interface."""

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
"""Upper bound of random seeds."""


class GemEnv(Env):  # type: ignore[misc]
    """One environment; actions are whole responses in its format.

    Args:
        env: Id in Gymnasium's registry, or MODULE:ID to import the module that registers it.
        split: Split of the instances.
        response_format: Format of the responses.
        noise_seed: Noise of each episode; rollouts of a group differ in it only.
        seed: Instance of the first `reset` without a seed; `gem.make_vec` gives one.
        options: Extra arguments of the environment.

    Attributes:
        episode: The current episode.

    Raises:
        ValueError: An argument is invalid.
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
        self._random_count = 0

    def reset(
        self, seed: int | None = None, *, noise_seed: int | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode; Python's and NumPy's global generators stay as they are.

        Args:
            seed: Index of the instance in the split. Without a seed, the first
                reset uses the constructor's, and later ones draw theirs from the latest seed.
            noise_seed: Noise of the episode; by default the constructor's.

        Returns:
            The first observation, and `Episode.info`.

        Raises:
            ValueError: A seed is not a non-negative int.
        """
        chosen = self._next_seed() if seed is None else seed
        noise = self._noise_seed if noise_seed is None else noise_seed
        return self.episode.reset(chosen, noise), self.episode.info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one response.

        Returns:
            Observation, reward, terminated, truncated and info.

        Raises:
            ResetNeeded: No episode is running.
            TypeError: The response is not a str.
        """
        turn = self.episode.step(action)
        return turn.observation, turn.reward, turn.terminated, turn.truncated, turn.info

    def sample_random_action(self) -> str:
        """Return a formatted response with random actions.

        Raises:
            ResetNeeded: No episode is running.
            NotImplementedError: The environment is third-party, and lists no actions.
        """
        inner = self.episode.env.unwrapped
        if not isinstance(inner, TextEnv):
            raise NotImplementedError(f"{self._arguments['env']} has no random player")
        labels = self._arguments["seed"] or 0, self._arguments["noise_seed"], self._random_count
        self._random_count += 1
        return random_answer(inner, RandomStream("gem", *labels))

    def spawn(self, same_state: bool = False, **kwargs: Any) -> GemEnv:
        """Return another environment with the same arguments.

        Args:
            same_state: Copy the current state, with the same arguments.
            kwargs: Changed arguments of the constructor, such as `noise_seed`.

        Raises:
            ValueError: An argument is invalid, or given together with `same_state`.
        """
        if not same_state:
            return GemEnv(**{**self._arguments, **kwargs})
        if kwargs:
            raise ValueError(f"same_state takes no other arguments, got {sorted(kwargs)}")
        return deepcopy(self)

    def close(self) -> None:
        """Release the environment's resources."""
        self.episode.close()

    def _next_seed(self) -> int:
        seed, self._first_seed = self._first_seed, None
        return int(self.episode.env.np_random.integers(_BOUND)) if seed is None else seed

"""The suite's games as environments of GEM.

Needs the extra `gem`. Importing it registers the suite's ids and those of installed games in GEM:

    import gem
    import ragen_envs.integrations.gem
    env = gem.make("ragen:Sokoban-v0", split="test")
"""

from __future__ import annotations

from ragen_envs.core import extras

with extras.required("ragen_envs.integrations.gem", "gem", "gem", "gem-llm 0.1"):
    import gem  # type: ignore[import-untyped]

from copy import deepcopy

from ragen_envs.core.instances import RandomStream, Split
from ragen_envs.core.policies import random_answer
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import Episode
from ragen_envs.registration import all_ids

__all__ = ["GemEnv"]

_BOUND = 1 << 62
"""Upper bound of random seeds."""


class GemEnv(gem.Env):  # type: ignore[misc]
    """One environment; actions are whole responses in its format.

    Other arguments and the errors are those of `Episode`, which is the attribute `episode`.

    Args:
        noise_seed: Noise of each episode; rollouts of a group differ in it only.
        seed: Instance of the first `reset` without a seed; `gem.make_vec` gives one.
    """

    def __init__(
        self,
        env: str,
        split: Split = "train",
        response_format: ResponseFormat = "think",
        noise_seed: int = 0,
        seed: int | None = None,
        **options: object,
    ) -> None:
        self.episode = Episode(env, split, response_format, **options)
        self._arguments: Info = {
            "env": env,
            "split": split,
            "response_format": response_format,
            "noise_seed": noise_seed,
            "seed": seed,
            **options,
        }
        self._noise_seed, self._first_seed = noise_seed, seed
        self._random_count = 0

    def reset(self, seed: int | None = None, *, noise_seed: int | None = None) -> tuple[str, Info]:
        """Start an episode; return its first observation and `Episode.info`.

        Without a seed, the first reset uses the constructor's, and later ones draw theirs from the
        latest seed. Python's and NumPy's global generators stay as they are. Errors are those of
        `Episode.reset`.
        """
        if seed is None:
            seed, self._first_seed = self._first_seed, None
        if seed is None:
            seed = int(self.episode.env.np_random.integers(_BOUND))
        noise = self._noise_seed if noise_seed is None else noise_seed
        return self.episode.reset(seed, noise), self.episode.info

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Take one response; return observation, reward, terminated, truncated and info.

        Errors are those of `Episode.step`.
        """
        turn = self.episode.step(action)
        return turn.observation, turn.reward, turn.terminated, turn.truncated, turn.info

    def sample_random_action(self) -> str:
        """Return a formatted response with random actions.

        A third-party environment, which lists no actions, raises NotImplementedError.
        """
        inner = self.episode.env.unwrapped
        if not isinstance(inner, TextEnv):
            raise NotImplementedError(f"{self._arguments['env']} has no random player")
        labels = self._arguments["seed"] or 0, self._arguments["noise_seed"], self._random_count
        self._random_count += 1
        return random_answer(inner, RandomStream("gem", *labels))

    def spawn(self, same_state: bool = False, **kwargs: object) -> GemEnv:
        """Return another environment with the same arguments, except those in `kwargs`.

        With `same_state` it is a copy of the current state, and other arguments are a ValueError.
        """
        if not same_state:
            return GemEnv(**self._arguments | kwargs)
        if kwargs:
            raise ValueError(f"same_state takes no other arguments, got {sorted(kwargs)}")
        return deepcopy(self)

    def close(self) -> None:
        """Release the environment's resources."""
        self.episode.close()


for _id in all_ids():
    gem.register(_id.replace("/", ":"), "ragen_envs.integrations.gem:GemEnv", env=_id)

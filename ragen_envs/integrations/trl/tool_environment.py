"""Makes classes for TRL's `environment_factory`, with a method for each function of a game."""

from __future__ import annotations

from typing import Any, ClassVar

import ragen_envs  # noqa: F401  (its ids)
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ACT
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.tool_calls import Call, CallError
from ragen_envs.core.tools import OUT_OF_FORM, answer_of
from ragen_envs.integrations.bridging import Episode, NoiseSeedCounter
from ragen_envs.integrations.trl.methods import make_methods


class ToolEnvironment:
    """An environment with TRL's interface; `environment` makes a class for an id.

    TRL treats every public method except `reset` and `get_reward` as a tool. So a class has one
    public method for each function of its game, and no others.

    Attributes:
        episode: The current episode; None before the first `reset`.
    """

    _env: ClassVar[str]
    _arguments: ClassVar[dict[str, Any]]
    _noise_seeds: ClassVar[NoiseSeedCounter]

    def __init__(self) -> None:
        self.episode: Episode | None = None
        self._episodes: dict[Split, Episode] = {}

    def reset(
        self,
        seed: int,
        rollout: int | None = None,
        split: Split = "train",
        **columns: object,  # noqa: ARG002 (TRL passes all columns of the row)
    ) -> str:
        """Start the episode of a row of the data set.

        Args:
            seed: Index of the instance in the split.
            rollout: Noise seed. Without one, the n-th episode of an instance in this process takes
                the n-th, as in a group.
            split: Split of the instance.
            columns: Other columns of the row, which are ignored.

        Returns:
            The first observation, which asks for tool calls; TRL adds it to the prompt.

        Raises:
            ValueError: If an argument is invalid.
        """
        episode = self._episodes.get(split)
        if episode is None:
            episode = self._episodes[split] = Episode(self._env, split, **self._arguments)
        if rollout is None:
            rollout = self._noise_seeds.next(self._env, split, seed)
        first = episode.reset(seed, rollout)
        self.episode = episode
        return first

    def get_reward(self) -> float:
        """Return the sum of the episode's rewards.

        An unfinished game of the suite is first played to its end with invalid responses, so that
        silence does not pay where a wrong response would cost.

        Raises:
            ValueError: Before the first `reset`.
        """
        episode = self._current()
        while isinstance(episode.env.unwrapped, TextEnv) and not episode.done:
            episode.step(OUT_OF_FORM)
        return episode.total_reward

    def _call(self, name: str, arguments: dict[str, Any]) -> str:
        """Take a turn, also for an invalid call, and return the observation."""
        episode = self._current()
        if episode.done:
            raise ValueError("the episode is over")
        return episode.step(_response(episode.env.unwrapped, name, arguments)).observation

    def _current(self) -> Episode:
        if self.episode is None:
            raise ValueError("no episode has begun: call reset first")
        return self.episode


def environment(env: str, **options: Any) -> type[ToolEnvironment]:
    """Return a class for `environment_factory`.

    Its methods have the types and docstrings that TRL and transformers require of tools. If all
    instances have the same actions, the types list them.

    Args:
        env: Id in Gymnasium's registry, or MODULE:ID to import the module that registers it.
        options: Extra arguments of the environment without `response_format`, since tool calls have
            their own.

    Raises:
        ValueError: for an id that nothing registers, or an argument that is refused.
    """
    inner = Episode(env, **options).env.unwrapped
    # A third-party environment accepts any text.
    form = {"response_format": "tools"} if isinstance(inner, TextEnv) else {}
    members = {
        "_env": env,
        "_arguments": {**options, **form},
        "_noise_seeds": NoiseSeedCounter.of_process(),
    }
    # TRL names the rewards' column after the class.
    name = env.rpartition("/")[2]
    return type(name, (ToolEnvironment,), {**members, **make_methods(inner)})


def _response(env: Any, name: str, arguments: dict[str, Any]) -> str:
    """Return the response equivalent to a call."""
    if isinstance(env, TextEnv):
        try:
            return answer_of(env, [Call(name, arguments)])
        except CallError:
            return OUT_OF_FORM
    action = arguments.get(ACT.parameter)
    if not isinstance(action, str):
        raise ValueError(f"{ACT.parameter} is a string, got {action!r}")
    return action

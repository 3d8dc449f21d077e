"""Classes for `environment_factory`: their methods are the functions of a game's actions."""

from __future__ import annotations

from typing import Any, ClassVar

import ragen_envs  # noqa: F401  (its ids)
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ACT
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.tool_calls import Call, CallError
from ragen_envs.core.tools import OUT_OF_FORM, answer_of
from ragen_envs.integrations.bridging import Episode, NoiseSeedCounter
from ragen_envs.integrations.trl.methods import methods


class ToolEnvironment:
    """An environment as TRL's trainer asks for it; `environment` makes a class for an id.

    TRL takes every public method but `reset` and `get_reward` for a tool, so the class of an id has
    one for each function of its game, and attributes that are no methods.

    Attributes:
        episode: the present one; None before the first `reset`.
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
            seed: which instance of the split.
            rollout: which noise; without one, the n-th episode of an instance in this process takes
                the n-th, as the members of a group do.
            split: where the instance comes from.
            columns: the row's others, which are not looked at.

        Returns:
            The first observation, which asks for calls of functions; TRL adds it to the prompt.

        Raises:
            ValueError: for an argument that is none of these.
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

        A game of the suite that the model leaves is played to its end first, with answers out of
        form: so that no model gains by silence where it would lose by a wrong answer.

        Raises:
            ValueError: before the first `reset`.
        """
        episode = self._begun()
        while isinstance(episode.env.unwrapped, TextEnv) and not episode.done:
            episode.step(OUT_OF_FORM)
        return episode.total_reward

    def _call(self, name: str, arguments: dict[str, Any]) -> str:
        """Take a turn and return what the model reads of it; a call out of form is a turn, too."""
        episode = self._begun()
        if episode.done:
            raise ValueError("the episode is over")
        return episode.step(_answer(episode.env.unwrapped, name, arguments)).observation

    def _begun(self) -> Episode:
        if self.episode is None:
            raise ValueError("no episode has begun: call reset first")
        return self.episode


def environment(env: str, **options: Any) -> type[ToolEnvironment]:
    """Return a class for `environment_factory`.

    Its methods are typed and documented as TRL and transformers ask for tools. Where all instances
    list the same actions, their types name these.

    Args:
        env: an id of Gymnasium's registry, or MODULE:ID to import the module that registers it.
        options: further arguments of the environment, but no `response_format`: calls have a form
            of their own.

    Raises:
        ValueError: for an id that nothing registers, or an argument that is refused.
    """
    inner = Episode(env, **options).env.unwrapped
    # An environment of another package takes any text.
    form = {"response_format": "tools"} if isinstance(inner, TextEnv) else {}
    members = {
        "_env": env,
        "_arguments": {**options, **form},
        "_noise_seeds": NoiseSeedCounter.of_process(),
    }
    # TRL names the column of the rewards by the class.
    name = env.rpartition("/")[2]
    return type(name, (ToolEnvironment,), {**members, **methods(inner)})


def _answer(env: Any, name: str, arguments: dict[str, Any]) -> str:
    """Return the answer that a call stands for."""
    if isinstance(env, TextEnv):
        try:
            return answer_of(env, [Call(name, arguments)])
        except CallError:
            return OUT_OF_FORM
    action = arguments.get(ACT.parameter)
    if not isinstance(action, str):
        raise ValueError(f"{ACT.parameter} is a string, got {action!r}")
    return action

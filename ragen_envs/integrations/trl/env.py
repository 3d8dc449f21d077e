"""Classes for TRL's `environment_factory`, and the rows of their data set.

A class has a method for each function of its game; transformers reads JSON schemas from their
signatures.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Literal

from datasets import Dataset

import ragen_envs  # noqa: F401  (its ids)
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ACT, Function
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.tool_calls import Call, CallError, Parameter, TypedFunction
from ragen_envs.core.tools import OUT_OF_FORM, answer_of, parameter_of, schemas, takes_several
from ragen_envs.core.wording import pluralize
from ragen_envs.integrations.bridging import Episode, NoiseSeedCounter, Task

Method = Callable[..., str]


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
            ValueError: An argument is invalid.
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
            ValueError: No episode has started.
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
        ValueError: The id is not registered, or the environment rejects an argument.
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
    return type(name, (ToolEnvironment,), {**members, **_make_methods(inner)})


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


def _make_methods(env: Any) -> dict[str, Method]:
    """Return a method for each function; a third-party environment has only `act`."""
    if not isinstance(env, TextEnv):
        return {ACT.name: _method(ACT, {ACT.parameter: (str, ACT.argument)})}
    env.reset(seed=0)
    return {function.name: _game_method(env, function) for function in env.functions}


def _game_method(env: TextEnv[Any, Any], function: Function | TypedFunction) -> Method:
    """Return the method of a function; its type lists the actions if they are constant."""
    if isinstance(function, TypedFunction):
        return _method(function, {p.name: (_typed_hint(p), p.about) for p in function.parameters})
    parameter, hint, about = parameter_of(env, function), _hint(env, function), function.argument
    if not takes_several(env):
        return _method(function, {parameter: (hint, about)})
    most = pluralize(env.budget.max_actions_per_turn, "item")
    return _method(function, {parameter: (list[hint], f"{about} {most} at most.")})  # type: ignore[valid-type]


def _typed_hint(parameter: Parameter) -> Any:
    if parameter.choices:
        return Literal[parameter.choices]
    return int if parameter.most else str


def _hint(env: TextEnv[Any, Any], function: Function) -> Any:
    """Return the type of one action."""
    if not env.has_fixed_actions:
        return str
    [schema] = [s["function"] for s in schemas(env) if s["function"]["name"] == function.name]
    [parameter] = schema["parameters"]["properties"].values()
    listed = parameter.get("items", parameter).get("enum")
    return Literal[tuple(listed)] if listed else str


def _method(function: Function | TypedFunction, parameters: dict[str, tuple[Any, str]]) -> Method:
    """Return a method that calls a function, with types and descriptions of its parameters."""

    def call(self: Any, **arguments: Any) -> str:
        observation: str = self._call(function.name, arguments)
        return observation

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    descriptions = "".join(f"    {name}: {about}\n" for name, (_, about) in parameters.items())
    call.__name__ = call.__qualname__ = function.name
    call.__doc__ = f"{function.about}\n\nArgs:\n{descriptions}" if descriptions else function.about
    call.__annotations__ = {name: hint for name, (hint, _) in parameters.items()} | {"return": str}
    typed = [inspect.Parameter(name, kind, annotation=p[0]) for name, p in parameters.items()]
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", kind), *typed], return_annotation=str
    )
    return call


def rows(tasks: Iterable[Task], own_noise: bool = True) -> Iterator[dict[str, Any]]:
    """Yield a row for each task, of plain values.

    A row holds a `prompt` of one empty user message, to which TRL adds the first observation; the
    id as `environment`, by which TRL selects one of several classes; `seed`, `rollout` and `split`.
    The tasks' response format is ignored, since tool calls have their own.

    Args:
        tasks: Tasks, as of `ragen_envs.integrations.bridging.tasks`.
        own_noise: Give each of TRL's copies of a row noise of its own, as in training. Otherwise
            all have the task's noise seed, as in an evaluation.
    """
    for task in tasks:
        yield {
            "prompt": [{"role": "user", "content": ""}],
            "environment": task.env,
            "seed": task.seed,
            "rollout": None if own_noise else task.noise_seed,
            "split": task.split,
        }


def dataset(tasks: Iterable[Task], own_noise: bool = True) -> Dataset:
    """Return `rows` as a data set for the trainer."""
    return Dataset.from_list([*rows(tasks, own_noise)])

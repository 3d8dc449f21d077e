"""The suite's games for TRL's GRPOTrainer, which plays them by tool calls.

Needs the extra `trl`:

    from ragen_envs.integrations.trl import dataset, environment
    trainer = GRPOTrainer(
        ...,
        environment_factory=environment("ragen/Sokoban-v0"),
        train_dataset=dataset(tasks("ragen/Sokoban-v0", 1000)),
    )
"""

from __future__ import annotations

from ragen_envs.core import extras

with extras.required("ragen_envs.integrations.trl", "trl", "trl"):
    import trl  # noqa: F401

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Literal

from datasets import Dataset

from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ACT, Function
from ragen_envs.core.text_env import AnyTextEnv, TextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.core.tool_calls import Call, CallError, TypedFunction
from ragen_envs.core.tools import OUT_OF_FORM, answer_of, parameter_of, schemas, takes_several
from ragen_envs.core.wording import pluralize
from ragen_envs.integrations.bridging import Episode, NoiseSeedCounter, Task

__all__ = ["ToolEnvironment", "dataset", "environment", "rows"]

Method = Callable[..., str]
Parameters = dict[str, tuple[object, str]]
"""Type and description of each parameter."""


class ToolEnvironment:
    """An environment with TRL's interface; `environment` makes a class for an id.

    TRL treats every public method except `reset` and `get_reward` as a tool. So a class has one
    public method for each function of its game, and no others.

    Attributes:
        episode: The current episode; None before the first `reset`.
    """

    _env: ClassVar[str]
    _arguments: ClassVar[Info]
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
        """Start the episode of a row of the data set; other columns are ignored.

        Without a rollout, the noise seed, the n-th episode of an instance in this process takes the
        n-th, as in a group. The first observation, which asks for tool calls, is returned; TRL adds
        it to the prompt.
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

    def _call(self, name: str, arguments: dict[str, object]) -> str:
        """Take a turn, also for an invalid call, and return the observation."""
        episode = self._current()
        if episode.done:
            raise ValueError("the episode is over")
        env = episode.env.unwrapped
        if isinstance(env, TextEnv):
            try:
                response = answer_of(env, [Call(name, arguments)])
            except CallError:
                response = OUT_OF_FORM
            return episode.step(response).observation
        action = arguments.get(ACT.parameter)
        if not isinstance(action, str):
            raise ValueError(f"{ACT.parameter} is a string, got {action!r}")
        return episode.step(action).observation

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
    methods = {ACT.name: _method(ACT, {ACT.parameter: (str, ACT.argument)})}
    if isinstance(inner, TextEnv):
        inner.reset(seed=0)
        methods = {f.name: _method(f, _parameters(inner, f)) for f in inner.functions}
    return type(name, (ToolEnvironment,), {**members, **methods})


def _parameters(env: AnyTextEnv, function: Function | TypedFunction) -> Parameters:
    """Return a function's parameters; the type lists the actions if they are constant."""
    if isinstance(function, TypedFunction):
        return {
            p.name: (Literal[p.choices] if p.choices else int if p.most else str, p.about)
            for p in function.parameters
        }
    parameter, hint, about = parameter_of(env, function), _hint(env, function), function.argument
    if takes_several(env):
        most = pluralize(env.budget.max_actions_per_turn, "item")
        hint, about = list[hint], f"{about} {most} at most."  # type: ignore[valid-type]
    return {parameter: (hint, about)}


def _hint(env: AnyTextEnv, function: Function) -> object:
    if not env.has_fixed_actions:
        return str
    [schema] = [s["function"] for s in schemas(env) if s["function"]["name"] == function.name]
    [parameter] = schema["parameters"]["properties"].values()
    listed = parameter.get("items", parameter).get("enum")
    return Literal[tuple(listed)] if listed else str


def _method(function: Function | TypedFunction, parameters: Parameters) -> Method:
    """Return a method that calls a function, with types and descriptions of its parameters."""

    def call(self: ToolEnvironment, **arguments: object) -> str:
        return self._call(function.name, arguments)

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


def rows(tasks: Iterable[Task], own_noise: bool = True) -> Iterator[dict[str, object]]:
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

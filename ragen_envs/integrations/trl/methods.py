"""Makes methods of a game's functions; transformers reads JSON schemas from their signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal

from ragen_envs.core.protocol import ACT, Function
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.tools import parameter_of, schemas, takes_several
from ragen_envs.core.typed_calls import Parameter, TypedFunction
from ragen_envs.core.wording import counted

Method = Callable[..., str]


def make_methods(env: Any) -> dict[str, Method]:
    """Return a method for each function of an environment's game, by name.

    Args:
        env: A game of the suite, or a third-party environment, whose only function is `act`.
    """
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
    most = counted(env.budget.max_actions_per_turn, "item")
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

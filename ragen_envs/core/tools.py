"""A game's actions as functions that a model calls, and the response for its calls.

Functions are described in the format of chat APIs, with a JSON schema of their arguments:

    schemas(env)                                            # the `tools` of a request
    answer_of(env, [Call("act", '{"actions": ["Up"]}')])    # the action for `env.step`
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Protocol, cast

from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import (
    BROKEN,
    SEPARATOR,
    ActionReader,
    Function,
    Parsed,
    Player,
    format_answer,
)
from ragen_envs.core.tool_calls import (
    Call,
    CallError,
    Schema,
    TypedFunction,
    as_text,
    convert_arguments,
    fault,
    load_arguments,
    parse_calls,
    read_call,
    write_call,
)
from ragen_envs.core.wording import pluralize

OUT_OF_FORM = ""
"""The response to play for malformed calls: it runs nothing and costs the format penalty."""
_TAG = re.compile(r"</?(?:think|answer)>")


class Caller(Player, Protocol):
    """A player that calls functions; every `TextEnv` is one."""

    @property
    def functions(self) -> tuple[Function | TypedFunction, ...]:
        """Functions of the game; every action is a call of one."""
        ...

    @property
    def budget(self) -> Budget:
        """Maximum turns and actions per episode."""
        ...


def schemas(env: Caller) -> list[Schema]:
    """Return the functions that may be called now, in the format of OpenAI's API.

    Each is ``{"type": "function", "function": {"name", "description", "parameters"}}``. If a turn
    may run several actions, the parameter is a list. Empty after the end of an episode.
    """
    offered = []
    for function in env.functions:
        if isinstance(function, TypedFunction):
            parameters = function.schema if env.legal_actions else None
        else:
            parameters = _parameters(env, function)
        if parameters:
            about = {"name": function.name, "description": function.about}
            offered.append({"type": "function", "function": {**about, "parameters": parameters}})
    return offered


def answer_of(env: Caller, calls: Sequence[Call], thought: str = "") -> str:
    """Return the response, in the environment's format, for calls.

    The actions of several calls run in order. Unknown actions, and calls of a function that is not
    offered now, are well-formed: the game decides their cost.

    Args:
        env: Environment.
        calls: Calls, at least one; exactly one if a turn runs a single action.
        thought: Reasoning of the model, for the format "think"; its tags become blanks.

    Raises:
        CallError: No calls or too many, an unknown function, arguments that are not a JSON object
            with the names and types of the schema, or texts that a response cannot contain. Play
            `OUT_OF_FORM` instead.
    """
    actions = actions_of(env, calls)
    if env.response_format == "tools":
        return as_text(calls, thought)
    return format_answer(actions, env.response_format, _TAG.sub(" ", thought))


def actions_of(env: Caller, calls: Sequence[Call]) -> list[str]:
    """Return the texts of the actions that calls name, in order; raises as `answer_of` does."""
    if not calls:
        raise CallError("no function was called")
    if len(calls) > 1 and not takes_several(env):
        raise CallError(f"one call a turn, got {len(calls)}")
    return [action for call in calls for action in _actions(env, call)]


def read_calls(env: Caller, reader: ActionReader, answer: str) -> Parsed:
    """Parse a whole response in the format "tools"; a malformed one names no actions."""
    try:
        actions = actions_of(env, parse_calls(answer).calls)
    except CallError:
        return BROKEN
    return reader.read(f" {SEPARATOR} ".join(actions), "plain")


def answer_with(player: Player, actions: Sequence[str], thought: str = "") -> str:
    """Write actions as a response in the player's format, which may be "tools".

    Args:
        player: Environment or other player whose turn it is.
        actions: Texts of the actions, in order.
        thought: Reasoning before the actions, in the formats "think" and "tools".
    """
    if player.response_format == "tools":
        # Only a `TextEnv` has this format.
        return as_text(calls_of(cast(Caller, player), actions), thought)
    return format_answer(actions, player.response_format, thought)


def calls_of(env: Caller, actions: Sequence[str]) -> list[Call]:
    """Return the calls of actions, with their arguments as objects.

    Args:
        env: Environment.
        actions: Texts of the actions, such as those of `best_actions`, in order.

    Raises:
        ValueError: A text is not a call of any function of the game.
    """

    def function_of(action: str) -> Function | TypedFunction:
        for function in env.functions:
            reading = read_call if isinstance(function, TypedFunction) else _argument
            if reading(function, action) is not None:  # type: ignore[arg-type]  # each its own kind
                return function
        raise ValueError(f"{action!r} is not a call of {_names(env)}")

    calls = []
    for function, texts in groupby(actions, function_of):
        if isinstance(function, TypedFunction):
            calls += [
                Call(function.name, convert_arguments(function, read_call(function, t) or {}))
                for t in texts
            ]
            continue
        arguments: list[object] = [_argument(function, text) for text in texts]
        arguments = [arguments] if takes_several(env) else arguments
        parameter = parameter_of(env, function)
        calls += [Call(function.name, {parameter: argument}) for argument in arguments]
    return calls


def takes_several(env: Caller) -> bool:
    """Return whether a turn may run several actions, so that a call lists them."""
    return env.budget.max_actions_per_turn > 1


def parameter_of(env: Caller, function: Function) -> str:
    """Return the name of a function's parameter, in the plural if it is a list."""
    return f"{function.parameter}s" if takes_several(env) else function.parameter


def is_free(env: Caller, function: Function) -> bool:
    """Return whether the function takes free text now."""
    free = env.free_text
    return free is not None and (free.before, free.after) == (function.before, function.after)


def _parameters(env: Caller, function: Function) -> Schema | None:
    """Return the JSON schema of a function's arguments; None if no call is possible now."""
    item: Schema = {"type": "string"}
    if is_free(env, function) and env.free_text:
        item |= {"minLength": 1, "maxLength": env.free_text.longest}
    else:
        texts = [_argument(function, action) for action in env.legal_actions]
        item["enum"] = [text for text in texts if text is not None]
        if not item["enum"]:
            return None
    schema: Schema = {**item, "description": function.argument}
    if takes_several(env):
        most = env.actions_this_turn
        about = {"description": f"{function.argument} {pluralize(most, 'item')} at most."}
        schema = {"type": "array", "items": item, "minItems": 1, "maxItems": most, **about}
    name = parameter_of(env, function)
    return {
        "type": "object",
        "properties": {name: schema},
        "required": [name],
        "additionalProperties": False,
    }


def _argument(function: Function, action: str) -> str | None:
    before, after = function.before, function.after
    if len(action) < len(before + after) or not action.startswith(before):
        return None
    return action[len(before) : len(action) - len(after)] if action.endswith(after) else None


def _actions(env: Caller, call: Call) -> list[str]:
    """Return the texts of the actions that a call names."""
    function = next((known for known in env.functions if known.name == call.name), None)
    if function is None:
        raise CallError(f"there is no function {call.name!r}; call {_names(env)}")
    try:
        arguments = load_arguments(call.arguments)
    except CallError as error:
        raise CallError(f"the arguments of {call.name} are {error}") from None
    if isinstance(function, TypedFunction):
        return [_typed_action(env, function, arguments)]
    parameter = parameter_of(env, function)
    if not isinstance(arguments, Mapping) or set(arguments) != {parameter}:
        raise CallError(f"the arguments of {call.name} are an object with {parameter!r} alone")
    texts = arguments[parameter]
    if not isinstance(texts, list if takes_several(env) else str):
        kind = "an array" if takes_several(env) else "a string"
        raise CallError(f"{parameter} is {kind}, got {type(texts).__name__}")
    texts = texts if isinstance(texts, list) else [texts]
    whole = is_free(env, function) and not function.before and not function.after
    for text in texts:
        if not isinstance(text, str):
            raise CallError(f"{function.parameter} is a string, got {type(text).__name__}")
        _check_spoken(env, function.parameter, text, separable=not whole)
    return [f"{function.before}{text}{function.after}" for text in texts]


def _typed_action(env: Caller, function: TypedFunction, arguments: object) -> str:
    """Return the text of the action that a call with typed arguments names."""
    if not isinstance(arguments, Mapping):
        raise CallError(f"{function.name}: no object")
    if wrong := fault(function, arguments):
        raise CallError(f"{function.name}: {wrong}")
    for name, value in arguments.items():
        if isinstance(value, str):
            _check_spoken(env, name, value)
    return write_call(function, arguments)


def _check_spoken(env: Caller, parameter: str, text: str, separable: bool = True) -> None:
    """Refuse a text that an answer cannot hold."""
    if env.response_format in ("think", "answer") and _TAG.search(text):
        raise CallError(f"{parameter} holds a tag of the answer's form")
    if separable and SEPARATOR in text:
        raise CallError(f"{parameter} is one action, without {SEPARATOR}")


def _names(env: Caller) -> str:
    return " or ".join(function.name for function in env.functions)

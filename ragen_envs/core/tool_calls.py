"""Function calls as the text of a response, the format ``tools``; functions with typed arguments.

    I push the box up.
    <tool_call>{"name": "act", "arguments": {"actions": ["Up", "Left"]}}</tool_call>

The text before the calls is the thought; it may be empty. JSON decides where a call ends, and its
object may have further fields, such as an id. The chat templates of Qwen and Hermes use this
format, and calls that a server returns separately, or that a model writes in the form of another
template, are recorded in it. The text of the action that calls a `TypedFunction` is

    move event=E3 day=Friday time=10:00

where each argument appears once, in any order, and a value cannot contain "=", which starts the
next value. Parsing is linear in the length of the response.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_OPENED, _CLOSED = re.compile(rf"{_OPEN}\s*"), re.compile(rf"\s*{_CLOSE}")
_FORM = f"a call is one {_OPEN}...{_CLOSE}, with nothing behind the last one"
_DEEPEST = 32
"""Nesting of the arguments of a call; encoders of JSON fail at a depth of some hundreds."""
_SIGN = "="
Schema: TypeAlias = dict[str, Any]
"""A JSON schema, or a function of a chat API with the schema of its arguments."""


class Call(NamedTuple):
    """A function that a model called, with an object of arguments or its JSON."""

    name: str
    arguments: str | Mapping[str, object]


class CallError(ValueError):
    """Malformed calls. An unknown action is not an error, since the game reports it."""


class ParsedCalls(NamedTuple):
    """A response in the format ``tools``: the text before the calls, and the calls in order."""

    thought: str
    calls: list[Call]


def parse_calls(answer: str) -> ParsedCalls:
    """Parse a response. A tag that no JSON follows is a part of the thought.

    Raises:
        CallError: The response has no call, text after a call, or a call that is not a JSON object
            with a name and arguments.
    """
    first, end, is_named = 0, 0, False
    calls: list[Call] = []
    for tag in _OPENED.finditer(answer):
        if tag.start() < end:  # in an argument of the last call
            continue
        if answer[tag.end() : tag.end() + 1] not in ("{", "["):
            is_named = True
            continue
        if calls and answer[end : tag.start()].strip():
            raise CallError(_FORM)
        first = first if calls else tag.start()
        call, end = _read_call(answer, tag.end())
        calls.append(call)
    if not calls:
        raise CallError("a call is not JSON" if is_named else "no function was called")
    if answer[end:].strip():
        raise CallError(_FORM)
    return ParsedCalls(answer[:first].strip(), calls)


def thought_before(answer: str) -> str:
    """Return the text before the calls of a response, or its first tag; "" without a call."""
    with suppress(CallError):
        return parse_calls(answer).thought
    return answer.partition(_OPEN)[0].strip() if _OPEN in answer else ""


def as_text(calls: Sequence[Call], thought: str = "") -> str:
    """Return the response that makes calls; malformed JSON of their arguments is kept unchanged.

    Tags of calls in the thought become blanks.
    """
    texts = [thought.replace(_OPEN, " ").strip()]
    for call in calls:
        arguments: object = call.arguments
        with suppress(CallError):
            arguments = read_arguments(call)
        text = json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False)
        # In a string of JSON the tags may be written otherwise, so that no argument ends its call.
        texts.append(_OPEN + text.replace("<", "\\u003c") + _CLOSE)
    return "\n".join(filter(None, texts))


def load_arguments(arguments: str | Mapping[str, object]) -> object:
    """Return the arguments of a call, decoded if they are JSON; raises as `read_json` does."""
    if not isinstance(arguments, str):
        return arguments
    value, end = read_json(arguments.lstrip(), 0)
    if not arguments.lstrip()[end:].strip():
        return value
    raise CallError("not JSON: text after the value")


def read_arguments(call: Call) -> Mapping[str, object]:
    """Return the arguments of a call as an object; CallError if they are not one."""
    if isinstance(arguments := load_arguments(call.arguments), Mapping):
        return arguments
    raise CallError("not an object")


def read_json(text: str, start: int) -> tuple[object, int]:
    """Return the JSON value at a place of a text, and where it ends.

    Raises:
        CallError: No value begins there, or one that other readers of JSON refuse or read
            differently: numbers that are not finite, a key twice, or too many levels.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    # A deep nesting is a RecursionError.
    except (ValueError, RecursionError) as error:
        raise CallError(f"not JSON: {error}") from None
    if not _is_shallow(value, _DEEPEST):
        raise CallError(f"not JSON of {_DEEPEST} levels at most")
    return value, end


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise ValueError("a key appears twice")
    return read


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a finite number")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)


def _is_shallow(value: object, levels: int) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(part, levels - 1) for part in parts)


def _read_call(answer: str, start: int) -> tuple[Call, int]:
    try:
        call, end = read_json(answer, start)
    except CallError as error:
        raise CallError(f"a call is {error}") from None
    if not (closed := _CLOSED.match(answer, end)):
        raise CallError(_FORM)
    if not isinstance(call, dict) or not call.keys() >= {"name", "arguments"}:
        raise CallError("a call is an object with a name and arguments")
    read = Call(call["name"], call["arguments"])
    if isinstance(read.name, str) and isinstance(read.arguments, str | dict):
        return read, closed.end()
    raise CallError("the name of a call is a string, and its arguments are an object")


class Parameter(NamedTuple):
    """An argument of a function: one of some choices, a number, or a text.

    Attributes:
        name: Identifier.
        about: Description in a sentence.
        choices: Possible values; empty for a number or a text.
        most: Maximum of a number, whose minimum is 1; 0 if the value is not a number.
        pattern: Regular expression of a text, in the syntax of `FreeText.form`.
    """

    name: str
    about: str
    choices: tuple[str, ...] = ()
    most: int = 0
    pattern: str = "[a-zA-Z0-9]{1,40}"

    @property
    def form(self) -> str:
        """Regular expression of the values, as in `FreeText.form`; it omits some numbers."""
        if self.choices:
            return f"({'|'.join(map(_spell, self.choices))})"
        if self.most:
            digits = len(str(self.most + 1)) - 1  # as many nines are no more than the greatest
            return f"[1-9][0-9]{{0,{digits - 1}}}" if digits else f"[1-{self.most}]"
        return self.pattern

    @property
    def schema(self) -> Schema:
        """The JSON schema of its values."""
        if self.choices:
            return {"type": "string", "enum": [*self.choices], "description": self.about}
        if self.most:
            bounds = {"minimum": 1, "maximum": self.most}
            return {"type": "integer", **bounds, "description": self.about}
        return {"type": "string", "pattern": f"^{self.pattern}$", "description": self.about}


class TypedFunction(NamedTuple):
    """A function that a model may call for an action, with typed arguments, all required."""

    name: str
    about: str
    parameters: tuple[Parameter, ...] = ()

    @property
    def schema(self) -> Schema:
        """The JSON schema of its arguments."""
        return {
            "type": "object",
            "properties": {parameter.name: parameter.schema for parameter in self.parameters},
            "required": [parameter.name for parameter in self.parameters],
            "additionalProperties": False,
        }

    @property
    def form(self) -> str:
        """Regular expression of the texts of its calls, as in `FreeText.form`."""
        return _spell(self.name) + "".join(
            f"{_spell(f' {parameter.name}{_SIGN}')}{parameter.form}"
            for parameter in self.parameters
        )


def write_call(function: TypedFunction, arguments: Mapping[str, object]) -> str:
    """Return the text of a call with these arguments by name; other keys are ignored."""
    values = [f"{p.name}{_SIGN}{arguments[p.name]}" for p in function.parameters]
    return " ".join([function.name, *values])


def read_call(function: TypedFunction, text: str) -> dict[str, str] | None:
    """Return the arguments in the text of a call, unchanged, or None; case does not matter."""
    name, _, rest = text.strip().partition(" ")
    if name.lower() != function.name:
        return None
    if not rest.strip():
        return None if function.parameters else {}
    head, *pieces = rest.split(_SIGN)
    names, values = [head], []
    for piece in pieces[:-1]:
        value, _, name = piece.rstrip().rpartition(" ")
        names.append(name)
        values.append(value)
    values += pieces[-1:]
    found = {
        name.strip().lower(): value.strip() for name, value in zip(names, values, strict=False)
    }
    whole = len(found) == len(names) == len(values) and all(found.values())
    return found if whole and found.keys() == {p.name for p in function.parameters} else None


def convert_arguments(
    function: TypedFunction, arguments: Mapping[str, str]
) -> dict[str, str | int]:
    """Convert arguments to the types of their schemas; a malformed number is a ValueError."""
    return {
        p.name: int(arguments[p.name]) if p.most else arguments[p.name] for p in function.parameters
    }


def fault(function: TypedFunction, arguments: Mapping[str, object]) -> str | None:
    """Return the error in a call's arguments, or None; the game checks the choices."""
    if set(arguments) != {parameter.name for parameter in function.parameters}:
        wanted = ", ".join(repr(parameter.name) for parameter in function.parameters)
        return f"the arguments of {function.name} are an object with {wanted or 'nothing'} alone"
    for parameter in function.parameters:
        value, kind = arguments[parameter.name], int if parameter.most else str
        if not isinstance(value, kind) or isinstance(value, bool):
            article = "an integer" if parameter.most else "a string"
            return f"{parameter.name} is {article}, got {type(value).__name__}"
        if isinstance(value, str) and _SIGN in value:
            return f"{parameter.name} holds {_SIGN!r}, which no value does"
        if isinstance(value, int) and not 1 <= value <= parameter.most:
            return f"{parameter.name} is between 1 and {parameter.most}"
    return None


def form_of(functions: Iterable[TypedFunction]) -> str:
    """Return the regular expression of the texts of calls, as in `FreeText.form`."""
    return "|".join(function.form for function in functions)


def _spell(text: str) -> str:
    """Return a text as character classes of one character each."""
    return "".join(f"[{character}]" for character in text)

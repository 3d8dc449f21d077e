"""Calls of functions as the text of an answer, the form ``tools``.

    I push the box up.
    <tool_call>{"name": "act", "arguments": {"actions": ["Up", "Left"]}}</tool_call>

What comes first is thought, and may be left out. It is the form in which the chat templates of Qwen
and Hermes have calls; those that a server returns apart from the text are recorded so.
Reading is linear in the length of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"


class Call(NamedTuple):
    """A function that a model called.

    Attributes:
        name: of the function.
        arguments: an object, or its JSON.
    """

    name: str
    arguments: str | Mapping[str, Any]


class CallError(ValueError):
    """Calls that are out of form, with what is wrong; an action that does not exist is none."""


class Called(NamedTuple):
    """An answer in the form ``tools``.

    Attributes:
        thought: what stands before the calls.
        calls: in order.
    """

    thought: str
    calls: list[Call]


def called(answer: str) -> Called:
    """Return what an answer says.

    Raises:
        CallError: if it is out of form: without a call, with text behind one, or with one that is
            no JSON object of a name and arguments.
    """
    thought, *blocks = answer.split(_OPEN)
    if not blocks:
        raise CallError("no function was called")
    return Called(thought.strip(), [_call(block) for block in blocks])


def thought_before(answer: str) -> str:
    """Return what stands before the first call of an answer, nothing of one without a call."""
    thought, opened, _ = answer.partition(_OPEN)
    return thought.strip() if opened else ""


def as_text(calls: Sequence[Call], thought: str = "") -> str:
    """Return the answer that makes calls.

    Args:
        calls: their arguments as an object, or as JSON, which stays as it is where it is none.
        thought: what stands before them; the tag of a call in it becomes a blank.
    """
    thought = thought.replace(_OPEN, " ").strip()
    written = [f"{_OPEN}{_written(call)}{_CLOSE}" for call in calls]
    return "\n".join([thought, *written] if thought else written)


def _call(block: str) -> Call:
    body, closed, rest = block.partition(_CLOSE)
    if not closed or rest.strip():
        raise CallError(f"a call is one {_OPEN}...{_CLOSE}, with nothing behind the last one")
    try:
        call = json.loads(body)
    # A deep nesting is a RecursionError.
    except (ValueError, RecursionError) as error:
        raise CallError(f"a call is no JSON: {error}") from None
    if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
        raise CallError("a call is an object with a name and arguments")
    name, arguments = call["name"], call["arguments"]
    if not isinstance(name, str) or not isinstance(arguments, str | dict):
        raise CallError("the name of a call is a string, and its arguments are an object")
    return Call(name, arguments)


def _written(call: Call) -> str:
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments)
        except (ValueError, RecursionError):
            read = None
        arguments = read if isinstance(read, dict) else arguments
    # In a string of JSON the tags may be written otherwise, so that no argument ends its call.
    text = json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False)
    return text.replace("<", "\\u003c")

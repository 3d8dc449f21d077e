"""Function calls as the text of a response, the format ``tools``.

    I push the box up.
    <tool_call>{"name": "act", "arguments": {"actions": ["Up", "Left"]}}</tool_call>

The text before the calls is the thought; it may be empty. The chat templates of Qwen and Hermes use
this format, and calls that a server returns separately are recorded in it. Parsing is linear in the
length of the response.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"


class Call(NamedTuple):
    """A function that a model called.

    Attributes:
        name: Name of the function.
        arguments: Object of arguments, or its JSON.
    """

    name: str
    arguments: str | Mapping[str, Any]


class CallError(ValueError):
    """Malformed calls. An unknown action is not an error, since the game reports it."""


class ParsedCalls(NamedTuple):
    """A response in the format ``tools``.

    Attributes:
        thought: Text before the calls.
        calls: Calls in order.
    """

    thought: str
    calls: list[Call]


def parse_calls(answer: str) -> ParsedCalls:
    """Parse a response.

    Raises:
        CallError: The response has no call, text after a call, or a call that is not a JSON object
            with a name and arguments.
    """
    thought, *blocks = answer.split(_OPEN)
    if not blocks:
        raise CallError("no function was called")
    return ParsedCalls(thought.strip(), [_call(block) for block in blocks])


def thought_before(answer: str) -> str:
    """Return the text before the first call of a response; "" without a call."""
    thought, opened, _ = answer.partition(_OPEN)
    return thought.strip() if opened else ""


def as_text(calls: Sequence[Call], thought: str = "") -> str:
    """Return the response that makes calls.

    Args:
        calls: Calls whose arguments are an object or JSON; malformed JSON is kept unchanged.
        thought: Text before the calls; tags of calls in it become blanks.
    """
    thought = thought.replace(_OPEN, " ").strip()
    texts = [f"{_OPEN}{_write_call(call)}{_CLOSE}" for call in calls]
    return "\n".join([thought, *texts] if thought else texts)


def _call(block: str) -> Call:
    body, closed, rest = block.partition(_CLOSE)
    if not closed or rest.strip():
        raise CallError(f"a call is one {_OPEN}...{_CLOSE}, with nothing behind the last one")
    try:
        call = json.loads(body)
    # A deep nesting is a RecursionError.
    except (ValueError, RecursionError) as error:
        raise CallError(f"a call is not JSON: {error}") from None
    if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
        raise CallError("a call is an object with a name and arguments")
    name, arguments = call["name"], call["arguments"]
    if not isinstance(name, str) or not isinstance(arguments, str | dict):
        raise CallError("the name of a call is a string, and its arguments are an object")
    return Call(name, arguments)


def _write_call(call: Call) -> str:
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

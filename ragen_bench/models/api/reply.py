"""Replies of a server, read strictly: what breaks the protocol is a fault of that one try."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ragen_bench.models.api.faults import PassingError
from ragen_bench.models.base import Completion
from ragen_envs.core.tool_calls import Call, as_text

_SHOWN = 60
_PARTS = ("prompt", "completion")
_MOST_TOKENS = 10**12
"""Far beyond every context; a record of more could not be read again."""


def models_of(body: str, clean: Callable[[str], str] = str) -> dict[str, Mapping[str, Any]]:
    """Return the entries of a list of models by their ids.

    Args:
        body: the reply.
        clean: takes out of a text what is secret.

    Raises:
        PassingError: if it is not such a list.
    """
    listed = _object(body, clean).get("data")
    if not isinstance(listed, list):
        raise _nonsense(clean(body), "no list of models")
    # What is recorded of an entry may have any names.
    entries = [_cleaned(entry, clean, names=True) for entry in listed if isinstance(entry, dict)]
    return {entry["id"]: entry for entry in entries if isinstance(entry.get("id"), str)}


def completion_of(
    body: str,
    stop: str,
    cut_below: int = 0,
    clean: Callable[[str], str] = str,
    *,
    calls: bool = False,
) -> Completion:
    """Return the answer of a reply, up to and with the stop text.

    A reply without text is an empty answer if the server counted tokens for it: a refusal, or
    thoughts that used up the limit.

    Args:
        body: the reply.
        stop: what ends an answer; "" for nothing.
        cut_below: an answer that was cut with fewer tokens than these ran out of context.
        clean: takes out of a text what is secret.
        calls: whether functions may be called; the answer is then in the form "tools".

    Raises:
        PassingError: if it holds no answer.
    """
    reply, body = _object(body, clean), clean(body)
    read, sampled = _tokens(body, reply.get("usage"))
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise _nonsense(body, "no answer")
    text = message.get("content")
    made = _calls(message, body) if calls else []
    if text is None and (sampled or made):
        text = ""
    if not isinstance(text, str):
        raise _nonsense(body, "an answer without text")
    if made:
        text = as_text(made, text)
    answer, stopped, _ = text.partition(stop) if stop else (text, "", "")
    if stopped or choice.get("finish_reason") != "length":
        return Completion(answer + stopped, read, sampled, "stop", _reasoning(message))
    if 0 < sampled < cut_below:
        return Completion("", read, sampled, "context")
    return Completion(answer, read, sampled, "length", _reasoning(message))


def _reasoning(message: Mapping[str, Any]) -> str:
    """Return the thoughts beside the answer: OpenAI's protocol has none, and servers two names."""
    named = message.get("reasoning_content") or message.get("reasoning")
    return named if isinstance(named, str) else ""


def _calls(message: Mapping[str, Any], body: str) -> list[Call]:
    """Return the calls of a message; what their arguments are worth, the game says."""
    listed = message.get("tool_calls") or []
    functions = [
        call.get("function") if isinstance(call, dict) else None
        for call in (listed if isinstance(listed, list) else [None])
    ]
    calls = []
    for function in functions:
        name, arguments = (
            (function.get("name"), function.get("arguments"))
            if isinstance(function, dict)
            else (None, None)
        )
        if not isinstance(name, str) or not isinstance(arguments, str):
            raise _nonsense(body, "a call without a name and arguments")
        calls.append(Call(name, arguments))
    return calls


def _tokens(body: str, usage: Any) -> tuple[int, int]:
    """Return the tokens that were read and sampled; 0 if the server counts none."""
    if usage is None:
        return 0, 0
    counts = [usage.get(f"{part}_tokens") if isinstance(usage, dict) else None for part in _PARTS]
    read, sampled = [
        count if type(count) is int and 0 <= count < _MOST_TOKENS else None for count in counts
    ]
    if read is None or sampled is None:
        raise _nonsense(body, "an answer whose tokens are miscounted")
    return read, sampled


def _object(body: str, clean: Callable[[str], str]) -> dict[str, Any]:
    try:
        reply = _cleaned(json.loads(body), clean)
    except (ValueError, RecursionError):
        raise _nonsense(clean(body), "no JSON") from None
    if not isinstance(reply, dict):
        raise _nonsense(clean(body), "no JSON object")
    return reply


def _cleaned(value: Any, clean: Callable[[str], str], *, names: bool = False) -> Any:
    """Return a value of JSON whose texts are clean, and the names of fields if that is wanted."""
    if isinstance(value, dict):
        parts = {name: _cleaned(part, clean, names=names) for name, part in value.items()}
        return {clean(name): part for name, part in parts.items()} if names else parts
    if isinstance(value, list):
        return [_cleaned(part, clean, names=names) for part in value]
    return clean(value) if isinstance(value, str) else value


def _nonsense(body: str, what: str) -> PassingError:
    return PassingError(f"the server sent {what}: {body[:_SHOWN]!r}", answered=True)

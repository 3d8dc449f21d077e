"""Conversations with calls of functions, as chat APIs and chat templates take them.

Everywhere else a conversation holds texts alone, and an answer its calls as
`ragen_envs.core.tool_calls` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ragen_bench.models.base import Message
from ragen_envs.core.player import Player
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.tool_calls import Call, CallError, called

SEE_LAST = "What came of all calls is told with the last one."
"""The result of each call of an answer but the last."""


def functions_of(player: Player) -> list[dict[str, Any]]:
    """Return the functions that may be called now; none where answers are written out.

    Args:
        player: an environment in its turn, or another who is to answer now.
    """
    if isinstance(player, TextEnv) and player.response_format == "tools":
        return player.functions_now
    return []


def with_calls(messages: Sequence[Message], *, as_json: bool) -> list[dict[str, Any]]:
    """Return a conversation in which calls and their results stand apart from the text.

    An answer that is out of form stays a text, and what follows it a message of the user.

    Args:
        messages: the conversation; its answers are in the form "tools".
        as_json: whether arguments are their JSON, as APIs have them, or objects, as templates do.
    """
    shown: list[dict[str, Any]] = []
    waiting: list[str] = []
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role == "assistant":
            answer, waiting = _answer(content, number, as_json)
            shown.append(answer)
        elif waiting:
            results = [SEE_LAST] * (len(waiting) - 1) + [content]
            shown += [
                {"role": "tool", "tool_call_id": name, "content": result}
                for name, result in zip(waiting, results, strict=True)
            ]
            waiting = []
        else:
            shown.append({"role": role, "content": content})
    return shown


def _answer(text: str, number: int, as_json: bool) -> tuple[dict[str, Any], list[str]]:
    """Return the message of an answer, and the names of its calls."""
    try:
        thought, calls = called(text)
    except CallError:
        return {"role": "assistant", "content": text}, []
    # Of nine letters and digits, as one provider wants them.
    names = [f"call{number:03d}{place:02d}" for place in range(len(calls))]
    made = [
        {"id": name, "type": "function", "function": _function(call, as_json)}
        for name, call in zip(names, calls, strict=True)
    ]
    return {"role": "assistant", "content": thought, "tool_calls": made}, names


def _function(call: Call, as_json: bool) -> dict[str, Any]:
    arguments = call.arguments
    if as_json and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {"name": call.name, "arguments": arguments}

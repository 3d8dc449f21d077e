"""Conversations with tool calls and pictures, as chat APIs and chat templates take them.

Everywhere else a conversation holds texts alone, with calls as `ragen_envs.core.tool_calls` writes
them, and PNG files of the boards.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from ragen_bench.errors import missing_extra
from ragen_bench.json_types import Json, JsonObject
from ragen_bench.models.base import Message
from ragen_envs.core.protocol import Player
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.tool_calls import CallError, parse_calls


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Return RGB pixels of shape (height, width, 3) as a PNG file."""
    try:
        from PIL import Image
    except ImportError as missing:
        raise missing_extra(missing, "openai") from missing
    file = BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def to_content_parts(messages: Sequence[Message]) -> list[JsonObject]:
    """Return a conversation whose pictures are content parts of OpenAI's protocol."""
    converted: list[JsonObject] = []
    for message in messages:
        content: Json = message["content"]
        if pictures := message.get("pictures"):
            urls = [f"data:image/png;base64,{b64encode(file).decode()}" for file in pictures]
            images: list[Json] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            content = [{"type": "text", "text": content}, *images]
        converted.append({"role": message["role"], "content": content})
    return converted


SEE_LAST = "What came of all calls is told with the last one."
"""The result of each call of a response but the last."""


def functions_of(player: Player) -> list[JsonObject]:
    """Return the functions that may be called now; none in other formats than "tools"."""
    if isinstance(player, TextEnv) and player.response_format == "tools":
        return player.functions_now
    return []


def with_tool_calls(messages: Sequence[Message], *, as_json: bool) -> list[JsonObject]:
    """Return a conversation in which tool calls and their results are separate from the text.

    A response out of format stays a text, and the next message one of the user. With `as_json`,
    arguments are JSON texts as in APIs; otherwise they are objects as in templates.
    """
    converted: list[JsonObject] = []
    call_ids: list[str] = []
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role == "assistant":
            response, call_ids = _convert_response(content, number, as_json)
            converted.append(response)
        elif call_ids:
            results = [SEE_LAST] * (len(call_ids) - 1) + [content]
            converted += [
                {"role": "tool", "tool_call_id": call_id, "content": result}
                for call_id, result in zip(call_ids, results, strict=True)
            ]
            call_ids = []
        else:
            converted.append({"role": role, "content": content})
    return converted


def _convert_response(text: str, number: int, as_json: bool) -> tuple[JsonObject, list[str]]:
    """Return the message of a response, and the ids of its calls."""
    try:
        thought, calls = parse_calls(text)
    except CallError:
        return {"role": "assistant", "content": text}, []
    # One provider demands ids of nine letters and digits.
    ids = [f"call{number:03d}{place:02d}" for place in range(len(calls))]
    tool_calls = []
    for call_id, call in zip(ids, calls, strict=True):
        arguments = call.arguments
        if as_json and not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        function = {"name": call.name, "arguments": arguments}
        tool_calls.append({"id": call_id, "type": "function", "function": function})
    return {"role": "assistant", "content": thought, "tool_calls": tool_calls}, ids

"""Conversations with tool calls and pictures, as chat APIs and chat templates take them.

Everywhere else a conversation holds texts alone, with calls as `ragen_envs.core.tool_calls` writes
them, and PNG files of the boards.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from io import BytesIO
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.json_types import Json, JsonObject
from ragen_bench.models.base import Message
from ragen_envs.core.protocol import Player
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.tool_calls import Call, CallError, parse_calls, read_arguments

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of functions that all servers take."""


class RefusedConversationError(UserError):
    """A chat template refused a conversation, or failed; the reason is one line."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the model's chat template refuses a conversation: {reason}", exit_code=1)
        self.reason = reason


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


def to_parts(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return a message whose text is a part of its content."""
    return {**message, "content": [{"type": "text", "text": message["content"] or ""}]}


def replace_surrogates(part: Any) -> Any:
    """Return a message without lone surrogates, which responses may hold and UTF-8 does not."""
    if isinstance(part, Mapping):
        return {name: replace_surrogates(inner) for name, inner in part.items()}
    if isinstance(part, list):
        return [replace_surrogates(inner) for inner in part]
    return part.encode("utf-8", "replace").decode() if isinstance(part, str) else part


NO_FUNCTIONS = "the model's chat template does not describe functions; remove --format tools"
UNSHOWN = "(an answer that cannot be shown)"
"""What stands in the history for a response that the chat template refuses even as a text."""
SEE_LAST = "What came of all calls is told with the last one."
"""The result of each call of a response but the last."""


def functions_of(player: Player) -> list[JsonObject]:
    """Return the functions that may be called now; none in other formats than "tools"."""
    if isinstance(player, TextEnv) and player.response_format == "tools":
        return player.functions_now
    return []


def names_of(player: Player) -> frozenset[str] | None:
    """Return the names of a game's functions, those that cannot be called now among them."""
    return frozenset(one.name for one in player.functions) if isinstance(player, TextEnv) else None


def make_id(_name: str, number: int, place: int) -> str:
    """Return the id of a call in a message: nine letters and digits, as one provider demands."""
    return f"call{number:03d}{place:02d}"


def with_tool_calls(
    messages: Sequence[Message],
    *,
    as_json: bool,
    names: Collection[str] | None = None,
    several: bool = True,
    plain: Collection[int] = (),
    make_id: Callable[[str, int, int], str] = make_id,
) -> list[JsonObject]:
    """Return a conversation in which tool calls and their results are separate from the text.

    A response with a call that servers refuse stays a text, and the next message one of the user:
    a call out of form, with arguments that are not a JSON object, or of a function that does not
    exist.

    Args:
        messages: Conversation with calls in its texts.
        as_json: Arguments are JSON texts as in APIs; otherwise they are objects as in templates.
        names: Names of the game's functions; None for all that servers take.
        several: A message may make several calls.
        plain: Numbers of messages whose calls stay texts.
        make_id: Returns a call's id, from its name, the message's number and its own there.
    """
    converted: list[JsonObject] = []
    call_ids: list[str] = []
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if call_ids and role != "assistant":
            results = [SEE_LAST] * (len(call_ids) - 1) + [content]
            converted += [
                {"role": "tool", "tool_call_id": call_id, "content": result}
                for call_id, result in zip(call_ids, results, strict=True)
            ]
            call_ids = []
            continue
        calls: list[Call] = []
        if role == "assistant" and number not in plain:
            thought, calls = _split_calls(content, names)
            calls = calls if several or len(calls) == 1 else []
        call_ids = [make_id(call.name, number, place) for place, call in enumerate(calls)]
        converted.append({"role": role, "content": content})
        if calls:
            functions = [
                {
                    "name": name,
                    "arguments": json.dumps(given, ensure_ascii=False) if as_json else given,
                }
                for name, given in calls
            ]
            converted[-1] |= {
                # Some servers refuse an empty text, and some templates a missing one.
                "content": thought or (None if as_json else ""),
                "tool_calls": [
                    {"id": call_id, "type": "function", "function": function}
                    for call_id, function in zip(call_ids, functions, strict=True)
                ],
            }
    return converted


def _split_calls(text: str, names: Collection[str] | None) -> tuple[str, list[Call]]:
    """Return the thought and the calls of a response; no calls if one of them would be refused."""
    try:
        thought, calls = parse_calls(text)
        calls = [Call(call.name, read_arguments(call)) for call in calls]
    except CallError:
        return text, []
    known = (_NAME.fullmatch(name) if names is None else name in names for name, _ in calls)
    return (thought, calls) if all(known) else (text, [])


def encode_arguments(arguments: object) -> str:
    """Return the arguments of a call as JSON."""
    return json.dumps(arguments, ensure_ascii=False)


_T = TypeVar("_T")


def settle(messages: Sequence[Message], render: Callable[[Sequence[Message], set[int]], _T]) -> _T:
    """Return a rendering of a conversation that no response can make fail.

    `render` takes the messages, and the numbers of those whose calls stay texts. Where it refuses
    the conversation, each response that it also refuses alone stays a text, or is replaced by
    `UNSHOWN`. A RefusedConversationError says that something else is refused.
    """
    try:
        return render(messages, set())
    except RefusedConversationError:
        answers = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
        if not answers:
            raise
    settled, plain = list(messages), set(answers)
    opening = list(messages[: answers[0]])
    for number in answers:
        content = messages[number]["content"]
        for shown, calls_stay in ((content, False), (content, True), (UNSHOWN, True)):
            settled[number] = {"role": "assistant", "content": shown}
            part = [*opening, *settled[number : number + 2]]
            try:
                render(part, {len(opening)} if calls_stay else set())
            except RefusedConversationError:
                continue
            plain -= set() if calls_stay else {number}
            break
    try:
        return render(settled, plain)
    except RefusedConversationError:
        return render(settled, set(answers))

"""What came with a model's calls, and goes back with them, unread."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, cast

from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Message, Request

NATIVE = "native_content"
"""Field of a message with the content as the provider's own protocol has it."""
_SIGNED = {
    NATIVE,
    "extra_content",
    "provider_specific_fields",
    "reasoning_details",
    "thinking_blocks",
    "thought_signature",
}
"""Fields that servers sign or encrypt, and demand back with a call."""
_THOUGHTS = {"reasoning_content", "reasoning"}
"""Fields that some servers demand back, and others refuse."""
_ABOUT_THOUGHTS = re.compile("reasoning|thinking|thought|signature")
_ABOUT_CALLS = re.compile("tool|call|function|template|jinja|argument|json")
_ABOUT_CONTENT = re.compile("empty|blank|content|assistant|text")
NO_ANSWER = "(no answer)"
"""Text of an empty turn for a server that refuses one."""
_LEVELS = 2


class Style(NamedTuple):
    """How a server wants the model's earlier turns.

    Attributes:
        returned: 0 if signed fields go back with calls; 1 if thoughts do too, and 2 with all turns.
        fills_empty: Whether an empty turn is sent as a text.
        calls_as_text: Whether calls are sent as texts, in this conversation alone.
    """

    returned: int = 0
    fills_empty: bool = False
    calls_as_text: bool = False

    def widen(self, other: Style) -> Style:
        """Return the style that fulfils the wishes of both."""
        return Style(max(self.returned, other.returned), self.fills_empty or other.fills_empty)

    def after_refusal(
        self, words: str, messages: Sequence[Message], kept: Sequence[JsonObject | None]
    ) -> Style | None:
        """Return the style to try after a refusal of a conversation, or None."""
        words = words.lower()
        if any(kept) and self.returned < _LEVELS and _ABOUT_THOUGHTS.search(words):
            return self._replace(returned=self.returned + 1)
        is_empty = any(m["role"] == "assistant" and not m["content"].strip() for m in messages)
        if is_empty and not self.fills_empty and _ABOUT_CONTENT.search(words):
            return self._replace(fills_empty=True)
        return None

    def after_refused_calls(self, words: str, messages: Sequence[Message]) -> Style | None:
        """Return the style to try after a server, or its template, refused calls, or None."""
        has_calls = any("<tool_call>" in m["content"] for m in messages)
        if self.calls_as_text or not has_calls or not _ABOUT_CALLS.search(words.lower()):
            return None
        return self._replace(calls_as_text=True)


AS_RECORDED = Style()


def kept_messages(request: Request) -> list[JsonObject | None]:
    """Return the server's messages of the episode's earlier turns, to be extended."""
    return cast("list[JsonObject | None]", request.state.setdefault(request.side, []))


def find_returned(came: JsonObject, style: Style) -> list[str]:
    """Return the names of the fields of a message and its calls that go back with the calls."""
    listed = came.get("tool_calls")
    holders = [came, *(listed if isinstance(listed, list) else [])]
    names = _returned_names(style)
    return sorted(
        {name for one in holders if isinstance(one, dict) for name in _select(one, names)}
    )


def _returned_names(style: Style) -> set[str]:
    return _SIGNED | (_THOUGHTS if style.returned else set())


def return_messages(
    messages: Sequence[JsonObject], kept: Sequence[JsonObject | None], style: Style
) -> list[JsonObject]:
    """Return a conversation with what came with the model's calls, and their ids.

    `kept` has the server's message of each turn; the conversation may lack the first turns.
    """
    sent = list(messages)
    turns = [number for number, message in enumerate(sent) if message["role"] == "assistant"]
    names = _returned_names(style)
    used = {name for came in kept if came for name in _THOUGHTS & came.keys()}
    default = dict.fromkeys(used or _THOUGHTS - {"reasoning"}, "") if style.returned else {}
    ids: dict[object, object] = {}
    for number, came in zip(reversed(turns), reversed(kept), strict=False):
        sent[number] = _return_message(sent[number], came or {}, names, default, style, ids)
    for number, message in enumerate(sent):
        if message.get("tool_call_id") in ids:
            sent[number] = {**message, "tool_call_id": ids[message["tool_call_id"]]}
        if style.fills_empty and number in turns and not message.get("tool_calls"):
            sent[number] = {**sent[number], "content": message["content"] or NO_ANSWER}
    return sent


def _return_message(
    message: JsonObject,
    came: JsonObject,
    names: set[str],
    default: JsonObject,
    style: Style,
    ids: dict[object, object],
) -> JsonObject:
    calls = message.get("tool_calls") or []
    returned = {**default, **_select(came, names)} if calls or style.returned == _LEVELS else {}
    listed = came.get("tool_calls") or []
    if not isinstance(listed, list) or len(listed) != len(calls):
        return {**returned, **message}
    both = list(zip(calls, listed, strict=True))
    extras = [_select(old, names) for _, old in both]
    known = [old.get("id") for _, old in both]
    texts = {identifier for identifier in known if isinstance(identifier, str) and identifier}
    if (returned or any(extras)) and len(texts) == len(known):
        ids.update({call["id"]: old["id"] for call, old in both})
    merged = [
        {**extra, **call, "id": ids.get(call["id"], call["id"])}
        for (call, _), extra in zip(both, extras, strict=True)
    ]
    return {**returned, **message, **({"tool_calls": merged} if merged else {})}


def _select(came: JsonObject, names: set[str]) -> JsonObject:
    return {name: came[name] for name in sorted(names & came.keys()) if came[name] is not None}

"""Replies in Anthropic's and Google's own protocols as replies in OpenAI's.

The library between drops what OpenAI's protocol lacks: why an answer ended, and what is signed.
"""

from __future__ import annotations

import json

from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.returned import NATIVE


def convert_anthropic(reply: JsonObject) -> JsonObject:
    """Return a reply of the Messages protocol in OpenAI's."""
    blocks = _objects(reply.get("content"))
    calls = [
        _make_call(block.get("id"), block.get("name"), block.get("input"))
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    parts = [block for block in blocks if block.get("type") != "tool_use"]
    message = {
        "content": parts or None,
        **({"tool_calls": calls, NATIVE: reply["content"]} if calls else {}),
    }
    usage = reply.get("usage")
    if isinstance(usage, dict):
        cached = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        usage = _rename_usage(usage, cached, ("output_tokens",))
    return _make_reply(reply, message if "content" in reply else None, "stop_reason", usage)


def convert_google(reply: JsonObject) -> JsonObject:
    """Return a reply of the Gemini API in OpenAI's; a blocked prompt is a filtered answer."""
    usage = reply.get("usageMetadata")
    if isinstance(usage, dict):
        written = ("candidatesTokenCount", "thoughtsTokenCount")
        usage = _rename_usage(usage, ("promptTokenCount", "toolUsePromptTokenCount"), written)
    candidates, feedback = _objects(reply.get("candidates")), reply.get("promptFeedback")
    if not candidates:
        is_blocked = isinstance(feedback, dict) and feedback.get("blockReason")
        return _make_reply({"reason": "blocked"}, {} if is_blocked else None, "reason", usage)
    content = candidates[0].get("content")
    parts = _objects(content.get("parts") if isinstance(content, dict) else None)
    calls: list[JsonObject] = []
    texts, extra = [], None
    for part in parts:
        signature = part.get("thoughtSignature")
        if isinstance(call := part.get("functionCall"), dict):
            # The library does not send an id of this form, which the server did not give.
            name = call.get("id") or f"call_anyllm_{reply.get('responseId')}_{len(calls)}"
            made = _make_call(name, call.get("name"), call.get("args") or {})
            calls.append({**made, "extra_content": _sign(signature)})
        else:
            texts.append({"type": "thinking" if part.get("thought") else "text", **part})
            extra = _sign(signature) if signature else extra
    message = {
        "content": texts or None,
        **({"tool_calls": calls, "extra_content": extra} if calls else {}),
    }
    return _make_reply(candidates[0], message, "finishReason", usage)


def _make_reply(
    ended: JsonObject, message: JsonObject | None, reason: str, usage: object
) -> JsonObject:
    finish = {"finish_reason": ended[reason]} if reason in ended else {}
    choices = [] if message is None else [{"message": message, **finish}]
    return {"choices": choices, "usage": usage}


def _make_call(identifier: object, name: object, arguments: object) -> JsonObject:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": identifier, "type": "function", "function": function}


def _sign(signature: object) -> JsonObject:
    return {"google": {"thought_signature": signature} if signature else {}}


def _rename_usage(
    usage: JsonObject, prompt: tuple[str, ...], completion: tuple[str, ...]
) -> JsonObject:
    """Return the sums of counts by their names in OpenAI's protocol; None if all are left out."""
    sums: JsonObject = {}
    for name, parts in (("prompt_tokens", prompt), ("completion_tokens", completion)):
        counts = [usage[part] for part in parts if type(usage.get(part)) is int]
        sums[name] = sum(counts) if counts else None
    return sums


def _objects(listed: object) -> list[JsonObject]:
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []

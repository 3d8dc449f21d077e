"""Streamed replies, put together into the body that an unstreamed reply has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.errors import RetryableError

_LINE_END = re.compile("\r\n|\n|\r")
_FIRST_LINE = re.compile(r"[\ufeff\s]*+(?::[^\r\n]*+\s*+)*+(?:data|event|id|retry|error):")
"""A field of an event, after comments, which may also stand before an unstreamed reply."""
_END = "[DONE]"
_ONCE = {"id", "type", "role", "name", "index"}
"""Fields that some servers repeat in each piece; they are not joined if they are equal."""
_OF_DELTAS = {"type", "partial_json"}
"""Fields of a delta of Anthropic that its block does not have."""
_STREAM_ONLY = re.compile(
    r"non-?stream|(?<![a-z])stream\w*\b.{0,60}\b(?:only|must|requir|need|enable|true|recommend)"
    r"|\b(?:only|must|requir\w*|need\w*|enable|please|set)\b.{0,60}(?<![a-z])stream",
    re.IGNORECASE | re.DOTALL,
)


def is_stream(body: str) -> bool:
    """Return whether a reply is a stream of events, whatever its header says."""
    return bool(_FIRST_LINE.match(body))


def wants_stream(error: str) -> bool:
    """Return whether a server's error says that it answers streamed requests alone."""
    return bool(_STREAM_ONLY.search(error))


def merge_openai(body: str) -> str:
    """Return the body that an unstreamed reply of OpenAI's protocol has; see `_read_events`."""
    reply: JsonObject = {}
    choice: JsonObject = {}
    deltas: list[object] = []
    for chunk in _read_events(body):
        if "error" in chunk:
            return _report_error(chunk, has_begun=bool(deltas))
        # Only the last chunk has the usage, or each has that of the chunks before it too.
        reply |= {name: value for name, value in chunk.items() if value is not None}
        first = _first(chunk.get("choices"))
        if first.get("index") not in (0, None):
            continue
        if message := first.get("message"):  # the whole answer once more
            deltas = [message]
        deltas += [first["delta"]] if first.get("delta") else []
        choice |= {name: value for name, value in first.items() if value is not None}
    _check_end(choice.get("finish_reason"))
    choice.pop("delta", None)
    return json.dumps({**reply, "choices": [{**choice, "message": _join(deltas) or {}}]})


def merge_anthropic(body: str) -> str:
    """Return the body that an unstreamed reply of Anthropic's protocol has."""
    message: JsonObject = {}
    blocks: dict[int, list[object]] = {}
    for event in _read_events(body):
        if "error" in event:
            return _report_error(event, has_begun=bool(blocks))
        index, delta = event.get("index"), event.get("delta")
        if isinstance(index, int):
            blocks.setdefault(index, []).append(event.get("content_block") or delta)
        elif isinstance(delta, dict):
            message |= delta
        message |= event["message"] if isinstance(event.get("message"), dict) else {}
        if isinstance(usage := event.get("usage"), dict):
            message["usage"] = {**(message.get("usage") or {}), **usage}
    _check_end(message.get("stop_reason"))
    content = [_join_block(pieces) for pieces in blocks.values()]
    return json.dumps({**message, "content": content})


def merge_google(body: str) -> str:
    """Return the body that an unstreamed reply of Google's protocol has."""
    reply: JsonObject = {}
    candidate: JsonObject = {}
    parts: list[object] = []
    for chunk in _read_events(body):
        if "error" in chunk:
            return _report_error(chunk, has_begun=bool(parts))
        first = _first(chunk.get("candidates"))
        content = first.get("content")
        listed = content.get("parts") if isinstance(content, dict) else None
        parts += listed if isinstance(listed, list) else []
        candidate |= first
        reply |= chunk
    _check_end(candidate.get("finishReason") or reply.get("promptFeedback"))
    if candidate:
        reply["candidates"] = [{**candidate, "content": {"role": "model", "parts": parts}}]
    return json.dumps(reply)


def _check_end(reason: object) -> None:
    """Refuse a stream that ended before its answer: a piece is not an answer."""
    if not reason:
        raise RetryableError("the stream ended before the answer did", answered=True)


def _report_error(event: JsonObject, has_begun: bool) -> str:
    """Return the body of an error; after a piece of an answer its status decides nothing."""
    error = event["error"]
    if has_begun and isinstance(error, dict):
        error = {**error, "code": str(error.get("code") or "")}
    return json.dumps({"error": error})


def _read_events(body: str) -> Iterator[JsonObject]:
    """Yield the objects in a stream of events up to its end; comments keep a connection alive.

    An error of the server is an object with the field "error". A RetryableError says that an event
    holds no object.
    """
    for name, lines in _split_events(body):
        data = "\n".join(lines)
        # Some servers end an event with one line end instead of two.
        for text in [data] if _parse(data) is not None else lines:
            if text.strip() == _END:
                return
            event = _parse(text)
            if name == "error" or (isinstance(event, dict) and event.get("error")):
                yield {"error": (event.get("error") if isinstance(event, dict) else text) or event}
                return
            if text.strip() and not isinstance(event, dict):
                raise RetryableError("the stream holds something else than JSON", answered=True)
            if isinstance(event, dict):
                yield {name: value for name, value in event.items() if name != "error"}


def _split_events(body: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each event and the lines of its data."""
    name, data = "", list[str]()
    for line in _LINE_END.split(body.lstrip("\ufeff")):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "error":  # of old llama.cpp
            yield field, [value]
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif not line:
            yield name, data
            name, data = "", []
    # A last event without an empty line is whole if its data is.
    yield name, data


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _join(pieces: Sequence[object], name: str = "") -> object:
    """Return a value whose pieces came one after the other; `name` is that of its field."""
    pieces = [piece for piece in pieces if piece is not None]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    objects = [piece for piece in pieces if isinstance(piece, dict)]
    if name == "tool_calls":
        return _join_calls([call for piece in pieces if isinstance(piece, list) for call in piece])
    if pieces and len(texts) == len(pieces):
        different = list(dict.fromkeys(filter(None, texts)))
        return different[0] if name in _ONCE and len(different) == 1 else "".join(texts)
    if pieces and len(objects) == len(pieces):
        return _join_objects(objects)
    if any(isinstance(piece, list) for piece in pieces):
        parts = ([*piece] if isinstance(piece, list) else [_part(piece)] for piece in pieces)
        return [part for listed in parts for part in listed]
    return pieces[-1] if pieces else None


def _first(listed: object) -> JsonObject:
    first = listed[0] if isinstance(listed, list) and listed else None
    return first if isinstance(first, dict) else {}


def _join_block(pieces: Sequence[object]) -> JsonObject:
    """Return a block of Anthropic's content from its start and its deltas."""
    objects = [piece for piece in pieces if isinstance(piece, dict)]
    written = "".join(str(piece.get("partial_json") or "") for piece in objects)
    fields = [{n: v for n, v in piece.items() if n not in _OF_DELTAS} for piece in objects[1:]]
    block = _join_objects([*objects[:1], *fields])
    return {**block, "input": _parse(written)} if written else block


def _part(piece: object) -> object:
    return {"type": "text", "text": piece} if isinstance(piece, str) else piece


def _join_calls(pieces: Sequence[object]) -> list[JsonObject]:
    """Return calls from their pieces, by index where a server gives it, else one after the other.

    Another id begins another call, since some servers give all calls the same index.
    """
    calls: list[list[JsonObject]] = []
    places: dict[int, int] = {}
    for piece in (each for each in pieces if isinstance(each, dict)):
        index, identifier, function = (piece.get(n) for n in ("index", "id", "function"))
        is_named = bool(identifier or (isinstance(function, dict) and function.get("name")))
        if isinstance(index, int):
            place = places.get(index)
        else:
            place = len(calls) - 1 if calls and not (is_named and not identifier) else None
        if place is not None and identifier:
            known = next((part["id"] for part in calls[place] if part.get("id")), identifier)
            place = place if known == identifier else None
        if place is None:
            place = len(calls)
            calls.append([])
        if isinstance(index, int):
            places[index] = place
        calls[place].append(piece)
    return [_join_objects(call, "index") for call in calls]


def _join_objects(pieces: Sequence[JsonObject], without: str = "") -> JsonObject:
    names = dict.fromkeys(name for piece in pieces for name in piece if name != without)
    return {name: _join([piece.get(name) for piece in pieces], name) for name in names}

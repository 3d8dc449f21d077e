"""Messages between the scorer and an agent's process: a length, then as many bytes of JSON.

The agent's process is untrusted: its messages have a maximum length and one of four shapes.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Request, Side, TurnId, VisiblePlayer
from ragen_envs.core.protocol import FreeText

MAX_LENGTH = 16 << 20
"""Maximum length of a message from an agent's process, in bytes."""
_LENGTH = struct.Struct(">I")
_HASH = re.compile(r"[0-9a-f]{1,64}").fullmatch


class MessageError(ValueError):
    """An invalid message; the text ends a sentence about the sender."""


@dataclass(frozen=True)
class Loaded:
    """The agent has been imported.

    `files` has name and file of each loaded module that has a file. `source_hash` is that of the
    agent's own source; "" if it has none. Both are hints, and ignored for an isolated agent.
    """

    is_class: bool
    is_async: bool
    files: list[list[str]]
    source_hash: str


@dataclass(frozen=True)
class Answered:
    """The response to a request."""

    number: int
    text: str
    reasoning: str
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Failed:
    """The error of a request; of the import if the number is -1."""

    number: int
    error: str


@dataclass(frozen=True)
class Interrupted:
    """The agent raised KeyboardInterrupt."""

    number: int


Reply = Loaded | Answered | Failed | Interrupted
_KINDS: dict[str, type[Reply]] = {
    kind.__name__: kind for kind in (Loaded, Answered, Failed, Interrupted)
}
_TYPES: dict[str, type] = {"bool": bool, "str": str, "int": int, "list[list[str]]": list}


def encode(content: object) -> bytes:
    """Return a message as bytes."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return _LENGTH.pack(len(text)) + text.encode("ascii")


def encode_reply(reply: Reply) -> bytes:
    """Return a reply as bytes."""
    return encode({"kind": type(reply).__name__, **asdict(reply)})


class MessageBuffer:
    """Assembles messages from the bytes that arrive, up to `max_length` bytes each if not None."""

    def __init__(self, max_length: int | None = MAX_LENGTH) -> None:
        self._max_length = max_length
        self._data = bytearray()

    def add(self, data: bytes) -> Iterator[Any]:
        """Add bytes, and yield the messages that are complete; a MessageError refuses one."""
        self._data += data
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            if self._max_length is not None and length > self._max_length:
                raise MessageError(
                    f"a message of {length:,} bytes, of {self._max_length:,} at most"
                )
            end = _LENGTH.size + length
            if len(self._data) < end:
                return
            text = bytes(self._data[_LENGTH.size : end])
            del self._data[:end]
            try:
                yield json.loads(text.decode("ascii"), parse_constant=_refuse_constant)
            except (ValueError, RecursionError):
                raise MessageError("a message that is not JSON") from None


def decode_reply(content: object) -> Reply:
    """Return the reply in a message; a MessageError says that it has none of the known shapes."""
    fields = dict(content) if isinstance(content, dict) else {}
    name = fields.pop("kind", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    shape = kind.__annotations__ if kind else {}
    # `type` instead of isinstance, since True would pass for an int.
    if kind is None or {key: type(value) for key, value in fields.items()} != {
        key: _TYPES[annotation] for key, annotation in shape.items()
    }:
        raise MessageError("a message of no known shape")
    reply = kind(**fields)
    if isinstance(reply, Loaded):
        for pair in reply.files:
            are_texts = type(pair) is list and [type(part) for part in pair] == [str, str]
            if not are_texts or any("\0" in part for part in pair):
                raise MessageError("a message of no known shape")
        if reply.source_hash and not _HASH(reply.source_hash):
            raise MessageError("an invalid hash")
    return reply


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(constant)


def encode_request(request: Request, with_turn: bool) -> JsonObject:
    """Return a request as JSON, without the environment; `with_turn` adds the legal actions."""
    env, turn = request.env, request.turn_id
    player: JsonObject = {"response_format": env.response_format}
    if with_turn:
        player["legal_actions"] = [*env.legal_actions]
        player["free_text"] = env.free_text and [*env.free_text]
        player["actions_this_turn"] = env.actions_this_turn
    return {
        "messages": [*request.messages],
        "key": request.key,
        "side": request.side,
        "turn_id": turn and [turn.env, turn.split, turn.instance, turn.sample, turn.turn],
        "player": player,
    }


def decode_request(message: JsonObject, states: dict[int, dict[Side, object]]) -> Request:
    """Return the request in a message; drop the `states` of episodes that have ended."""
    for number in message["ended"]:
        states.pop(number, None)
    number = message["episode"]
    state = {} if number is None else states.setdefault(number, {})
    data = message["request"]
    player = dict(data["player"])
    if "legal_actions" in player:
        player["legal_actions"] = tuple(player["legal_actions"])
        player["free_text"] = player["free_text"] and FreeText(*player["free_text"])
    turn = TurnId(*data["turn_id"]) if data["turn_id"] else None
    return Request(
        data["messages"], data["key"], VisiblePlayer(**player), data["side"], turn, state
    )

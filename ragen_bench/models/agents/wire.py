"""What the scorer and an agent's process send each other: lengths, each with as much JSON.

What an agent's process sends is untrusted: it is read up to a limit, and has one of few shapes.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

LONGEST = 16 << 20
"""Bytes of one message of an agent's process at most."""
_LENGTH = struct.Struct(">I")
_HASH = re.compile(r"[0-9a-f]{1,64}").fullmatch


class WireError(ValueError):
    """What arrived is not what may be sent; the message ends a sentence about the sender."""


@dataclass(frozen=True)
class Loaded:
    """The agent is loaded.

    Attributes:
        is_class: whether each episode has an object of its own.
        waits: whether it is `async def`.
        name: the name of its module, as the module says it.
        module: the file of its module, "" if it has none.
        files: the loaded modules that have a file: name and file.
        typed: the hash of its own source, "" if there is none.
    """

    is_class: bool
    waits: bool
    name: str
    module: str
    files: list[list[str]]
    typed: str


@dataclass(frozen=True)
class Answered:
    """The answer to a question."""

    number: int
    text: str
    reasoning: str
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Failed:
    """What became of a question in place of an answer; of the loading, if the number is -1."""

    number: int
    error: str
    exit_code: int


@dataclass(frozen=True)
class Interrupted:
    """The agent raised KeyboardInterrupt."""

    number: int


Reply = Loaded | Answered | Failed | Interrupted
_KINDS: dict[str, type[Reply]] = {
    kind.__name__: kind for kind in (Loaded, Answered, Failed, Interrupted)
}
_TYPES: dict[str, type] = {"bool": bool, "str": str, "int": int, "list[list[str]]": list}


def packed(content: Any) -> bytes:
    """Return a message as bytes.

    Raises:
        ValueError: if JSON cannot hold it.
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return _LENGTH.pack(len(text)) + text.encode("ascii")


def packed_reply(reply: Reply) -> bytes:
    """Return a reply as bytes."""
    return packed({"kind": type(reply).__name__, **asdict(reply)})


class Inbox:
    """Puts messages together from the bytes that arrive.

    Args:
        longest: bytes of a message at most; None for no limit.
    """

    def __init__(self, longest: int | None = LONGEST) -> None:
        self._longest = longest
        self._data = bytearray()

    def add(self, data: bytes) -> Iterator[Any]:
        """Take bytes, and yield what is whole by now.

        Raises:
            WireError: for a message that is too long, or not JSON.
        """
        self._data += data
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            if self._longest is not None and length > self._longest:
                raise WireError(f"a message of {length:,} bytes, of {self._longest:,} at most")
            end = _LENGTH.size + length
            if len(self._data) < end:
                return
            text = bytes(self._data[_LENGTH.size : end])
            del self._data[:end]
            yield _parsed(text)


def reply_of(content: Any) -> Reply:
    """Return a reply that has one of the known shapes.

    Raises:
        WireError: if it has none.
    """
    fields = dict(content) if isinstance(content, dict) else {}
    name = fields.pop("kind", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    shape = kind.__annotations__ if kind else {}
    # `type` and not isinstance: True is no number.
    if kind is None or {key: type(value) for key, value in fields.items()} != {
        key: _TYPES[annotation] for key, annotation in shape.items()
    }:
        raise WireError("a message of no known shape")
    reply = kind(**fields)
    if isinstance(reply, Loaded):
        _check_loaded(reply)
    return reply


def _check_loaded(reply: Loaded) -> None:
    named = all(
        type(pair) is list and [type(part) for part in pair] == [str, str] for pair in reply.files
    )
    texts = [reply.name, reply.module, *(part for pair in reply.files if named for part in pair)]
    if not named or any("\0" in text for text in texts):
        raise WireError("a message of no known shape")
    if reply.typed and not _HASH(reply.typed):
        raise WireError("a hash that is none")


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text.decode("ascii"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise WireError("a message that is not JSON") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)

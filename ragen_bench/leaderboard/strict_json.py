"""Limits of an entry, the error that refuses it, and a strict parser of untrusted JSON."""

from __future__ import annotations

import json
from math import isinf
from typing import Any, NoReturn

from ragen_bench.reading import is_deep
from ragen_bench.runs.differences import brief

ENTRY_JSON_BYTES = 1 << 20
PACKED_BYTES = 100_000_000
"""Maximum size of the compressed episodes, which is GitHub's limit for a file."""
UNPACKED_BYTES = 2_000_000_000
"""Maximum size of the unpacked episodes. They are read as a stream and never written to disk."""
RATIO = 500
"""Maximum compression ratio. Runs of random players reach 24, a model that repeats one word forever
may reach 100, and 1 GB of zeros has 1030."""
LINE_BYTES = 4 << 20
"""Maximum size of one episode: ten turns with responses and reasoning of 200,000 bytes each."""
DEPTH = 16
DIGITS = 18
SAMPLES = 16
"""Maximum number of episodes per instance; statistics hold them all in memory."""
PROMPT_TOKENS = 10_000_000
"""Maximum number of prompt tokens in one turn."""
BYTES_PER_TOKEN = 256
"""Maximum bytes per token; the longest tokens of common vocabularies are 128 spaces."""
PROBLEMS = 20
"""Number of problems after which the check of episodes stops."""


class EntryError(ValueError):
    """An entry is refused. Each argument is one reason, in one line."""


class BadJsonError(EntryError):
    """Bytes that are not accepted as JSON; the message gives the reason in one line."""


def parse(data: bytes) -> Any:
    """Return the value of a JSON text in UTF-8, whose length the caller limits.

    Raises BadJsonError if it is not JSON, or has NaN, infinity, duplicate keys, integers of more
    than 18 digits, or more than 16 levels.
    """
    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadJsonError("is not UTF-8") from None
    except RecursionError:
        raise BadJsonError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise BadJsonError(f"is not JSON ({error.msg} at character {error.pos + 1})") from None
    if is_deep(value, DEPTH):
        raise BadJsonError("is nested too deeply")
    return value


def _build_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:  # in one pass: a line may hold half a million keys
            if name in seen:
                raise BadJsonError(f"has an object with the key {brief(name)} twice")
            seen.add(name)
    return content


def _refuse_constant(name: str) -> NoReturn:
    raise BadJsonError(f"has {name}, which is not a number in JSON")


def _parse_integer(digits: str) -> int:
    count = len(digits.removeprefix("-"))
    if count > DIGITS:
        raise BadJsonError(f"has an integer of {count} digits")
    return int(digits)


def _parse_float(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise BadJsonError("has a number that is too large")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object,
    parse_constant=_refuse_constant,
    parse_int=_parse_integer,
    parse_float=_parse_float,
)

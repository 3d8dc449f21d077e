"""Parses untrusted JSON, and refuses texts that JSON readers may read differently."""

from __future__ import annotations

import json
from math import isinf
from typing import Any, NoReturn

from ragen_bench.leaderboard.limits import DEPTH, DIGITS
from ragen_bench.runs.differences import brief


class BadJsonError(ValueError):
    """Bytes that are not accepted as JSON; the message gives the reason in one line."""


def parse(data: bytes) -> Any:
    """Return the value of a JSON text.

    Args:
        data: UTF-8 text. The caller limits its length.

    Raises:
        BadJsonError: if it is not JSON, or has NaN, infinity, duplicate keys, integers of more
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
    _check_depth(value)
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise BadJsonError("is nested too deeply")


def _children(value: Any) -> list[Any]:
    if not isinstance(value, dict | list):
        return []
    items = value.values() if isinstance(value, dict) else value
    return [item for item in items if isinstance(item, dict | list)]


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        name = _find_duplicate([name for name, _ in pairs])
        raise BadJsonError(f"has an object with the key {brief(name)} twice")
    return content


def _find_duplicate(names: list[str]) -> str:
    # In one pass: a line may hold half a million keys.
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise ValueError("there is no duplicate")


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

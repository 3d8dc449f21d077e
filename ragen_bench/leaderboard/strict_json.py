"""JSON from a stranger: what readers of it could understand in two ways is refused."""

from __future__ import annotations

import json
from math import isinf
from typing import Any, NoReturn

from ragen_bench.leaderboard.limits import DEPTH, DIGITS
from ragen_bench.runs.differences import brief


class BadJsonError(ValueError):
    """Bytes that are not accepted as JSON; the message says why, in one line."""


def parse(data: bytes) -> Any:
    """Return the value of a JSON text.

    Args:
        data: UTF-8. The caller limits its length.

    Raises:
        BadJsonError: if it is not JSON; for NaN and infinite numbers, a key that an object has
            twice, whole numbers of more than 18 digits, and more than 16 levels.
    """
    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadJsonError("is not UTF-8") from None
    except RecursionError:
        raise BadJsonError("has objects and lists too deep inside each other") from None
    except json.JSONDecodeError as error:
        raise BadJsonError(f"is not JSON ({error.msg} at character {error.pos + 1})") from None
    _check_depth(value)
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH):
        level = [inside for item in level for inside in _nested(item)]
        if not level:
            return
    raise BadJsonError("has objects and lists too deep inside each other")


def _nested(value: Any) -> list[Any]:
    """Return the objects and lists that stand directly in a value."""
    inside = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return []
    return [item for item in inside if isinstance(item, dict | list)]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = _first_twice([name for name, _ in pairs])
        raise BadJsonError(f"has an object with the key {brief(twice)} twice")
    return content


def _first_twice(names: list[str]) -> str:
    # In one pass: a line may hold half a million keys.
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise ValueError("no name is there twice")


def _constant(name: str) -> NoReturn:
    raise BadJsonError(f"holds {name}, which is not a number in JSON")


def _whole(digits: str) -> int:
    count = len(digits.removeprefix("-"))
    if count > DIGITS:
        raise BadJsonError(f"holds a whole number of {count} digits")
    return int(digits)


def _fraction(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise BadJsonError("holds a number that is too large")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_int=_whole, parse_float=_fraction
)

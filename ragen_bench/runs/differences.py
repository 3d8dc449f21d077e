"""The first difference of two JSON values, as one short line."""

from __future__ import annotations

import json
from typing import Any

_SHOWN = 48
BEFORE = 12
"""Equal characters that are shown before the first different one."""
_MISSING = object()


def first_difference(recorded: Any, computed: Any, path: str = "") -> str | None:
    """Return the path of the first difference with both values, shortened; None if they are equal.

    Extra fields of the recorded objects are ignored. Numbers are compared by value, so 1 equals
    1.0; a bool never equals a number, and NaN equals nothing.
    """
    if isinstance(recorded, dict) and isinstance(computed, dict):
        return _in_objects(recorded, computed, path)
    if isinstance(recorded, list) and isinstance(computed, list):
        return _in_lists(recorded, computed, path)
    if _equal(recorded, computed):
        return None
    start = 0
    if isinstance(recorded, str) and isinstance(computed, str):
        start = max(0, count_common_prefix(recorded, computed) - BEFORE)
    return f"{path}: recorded {brief(recorded, start)}, recomputed {brief(computed, start)}"


def brief(value: Any, start: int = 0, shown: int = _SHOWN) -> str:
    """Return a value as a short ASCII text in one line.

    Args:
        value: Any JSON value.
        start: First character of a text to show.
        shown: Maximum number of its characters.
    """
    if value is _MISSING:
        return "nothing"
    if isinstance(value, str):
        part = json.dumps(value[start : start + shown])
        return f"{'...' if start else ''}{part}{'...' if len(value) > start + shown else ''}"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool | float):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**_SHOWN else "a huge number"
    return f"a {type(value).__name__}"


def count_common_prefix(recorded: str, computed: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(recorded, computed, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(recorded), len(computed)))


def _in_objects(recorded: dict[str, Any], computed: dict[str, Any], path: str) -> str | None:
    for name, value in computed.items():
        inside = f"{path}.{name}" if path else name
        different = first_difference(recorded.get(name, _MISSING), value, inside)
        if different:
            return different
    return None


def _in_lists(recorded: list[Any], computed: list[Any], path: str) -> str | None:
    for number, pair in enumerate(zip(recorded, computed, strict=False)):
        different = first_difference(*pair, f"{path}[{number}]")
        if different:
            return different
    if len(recorded) != len(computed):
        return f"{path}: recorded {brief(recorded)}, recomputed {brief(computed)}"
    return None


def _equal(recorded: Any, computed: Any) -> bool:
    numbers = (int, float)
    if isinstance(recorded, bool) or isinstance(computed, bool):
        return recorded is computed
    if isinstance(recorded, numbers) and isinstance(computed, numbers):
        return recorded == computed
    return type(recorded) is type(computed) and recorded == computed

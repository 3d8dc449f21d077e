"""Differences of JSON values and of run configurations, in short lines."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ragen_bench.json_types import JsonObject
from ragen_bench.models.listed import comparable

_SHOWN = 48
BEFORE = 12
"""Equal characters that are shown before the first different one."""
_MISSING = object()


def first_difference(
    recorded: object, computed: object, path: str = "", verb: str = "recomputed"
) -> str | None:
    """Return the path of the first difference with both values, shortened; None if they are equal.

    Extra fields of the recorded objects are ignored. Numbers are compared by value, so 1 equals
    1.0; a bool never equals a number, and NaN equals nothing. `verb` says where the second value
    comes from.
    """
    start = 0
    if isinstance(recorded, dict) and isinstance(computed, dict):
        inside = (
            first_difference(
                recorded.get(name, _MISSING), value, f"{path}.{name}" if path else name, verb
            )
            for name, value in computed.items()
        )
        return next(filter(None, inside), None)
    if isinstance(recorded, list) and isinstance(computed, list):
        pairs = enumerate(zip(recorded, computed, strict=False))
        inside = (first_difference(*pair, f"{path}[{number}]", verb) for number, pair in pairs)
        if (found := next(filter(None, inside), None)) or len(recorded) == len(computed):
            return found
    elif _equal(recorded, computed):
        return None
    elif isinstance(recorded, str) and isinstance(computed, str):
        start = max(0, count_common_prefix(recorded, computed) - BEFORE)
    return f"{path}: recorded {brief(recorded, start)}, {verb} {brief(computed, start)}"


def brief(value: object, start: int = 0, shown: int = _SHOWN) -> str:
    """Return a JSON value, a text from its character `start` on, as a short ASCII line."""
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


def _equal(recorded: object, computed: object) -> bool:
    numbers = (int, float)
    if isinstance(recorded, bool) or isinstance(computed, bool):
        return recorded is computed
    if isinstance(recorded, numbers) and isinstance(computed, numbers):
        return recorded == computed
    return type(recorded) is type(computed) and recorded == computed


_NOT_COMPARED = ("versions", "machine", "command", "suite_hash", "envs")
"""Fields that may differ, follow from others, or are compared separately."""
_IDENTITY = "model_identity"
_LONGEST = 64
"""Maximum number of characters of a value: the length of the longest hash."""


def find_differences(there: JsonObject, here: JsonObject) -> list[str]:
    """Return the differences of two run configurations, without implied ones."""
    names = [name for name in {**here, **there} if name not in _NOT_COMPARED]
    by_name = {name: list(_differing(name, there.get(name), here.get(name))) for name in names}
    if by_name.get("random_player"):
        by_name["random_player_identity"] = []
    if by_name.get("slots"):  # as --concurrency sets them
        by_name["group_size"] = []
    formed = bool(by_name.get("response_format"))
    if formed or by_name.get("history") or by_name.get("opponent"):
        by_name["prompt_hash"] = []
    reworded = formed or any(map(by_name.get, ("split", "sealed_key_hash", "pictures")))
    envs = _differing_envs(there.get("envs") or [], here.get("envs") or [], reworded)
    return [text for texts in by_name.values() for text in texts] + envs


def _differing(name: str, there: object, here: object) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        if name.endswith(_IDENTITY):
            there, here = comparable(there, here)
        for key in {**here, **there}:
            yield from _differing(f"{name}.{key}", there.get(key), here.get(key))
    elif there != here:
        start = 0
        # Show a text that differs late from there on.
        if isinstance(there, str) and isinstance(here, str):
            common = count_common_prefix(there, here)
            start = common - BEFORE if common > _LONGEST // 2 else 0
        values = [brief(value, start, _LONGEST) for value in (there, here)]
        yield f"{name}: {values[0]} there, {values[1]} here"


def _differing_envs(there: list[JsonObject], here: list[JsonObject], reworded: bool) -> list[str]:
    """Return the differences of environments; `reworded` if all specifications differ anyway."""
    before = {env["id"]: env for env in there}
    now = {env["id"]: env for env in here}
    texts = []
    for name in {**now, **before}:
        counts = [envs[name]["instances"] if name in envs else 0 for envs in (before, now)]
        if counts[0] != counts[1]:
            texts.append(f"{name}: {counts[0]} instances there, {counts[1]} here")
        elif not reworded and before[name]["spec_hash"] != now[name]["spec_hash"]:
            texts.append(f"{name}: another specification there")
    # A changed order changes that of the record.
    return texts if texts or list(before) == list(now) else ["the environments' order"]

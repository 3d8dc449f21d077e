"""The check before a run is resumed: differences between its configuration and the command's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragen_bench.json_types import JsonObject
from ragen_bench.runs.differences import BEFORE, brief, count_common_prefix

_NOT_COMPARED = ("versions", "machine", "command", "suite_hash", "envs")
"""Fields that may differ, follow from others, or are compared separately."""
_SHOWN = 64
"""Maximum number of characters of a value: the length of the longest hash."""


def differences(there: JsonObject, here: JsonObject) -> list[str]:
    """Return the differences of two configurations, in a few words each; [] if there are none.

    Skip differences that are implied by one already reported.

    Args:
        there: Configuration of the existing run.
        here: Configuration of the command.
    """
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


def _differing(name: str, there: Any, here: Any) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in {**here, **there}:
            yield from _differing(f"{name}.{key}", there.get(key), here.get(key))
    elif there != here:
        start = 0
        # Show a text that differs late from there on.
        if isinstance(there, str) and isinstance(here, str):
            common = count_common_prefix(there, here)
            start = common - BEFORE if common > _SHOWN // 2 else 0
        values = [brief(value, start, _SHOWN) for value in (there, here)]
        yield f"{name}: {values[0]} there, {values[1]} here"


def _differing_envs(there: list[JsonObject], here: list[JsonObject], reworded: bool) -> list[str]:
    """Return the differences of the environments.

    Args:
        there: Environments of the existing run.
        here: Environments of the command.
        reworded: Whether all specifications differ anyway.
    """
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

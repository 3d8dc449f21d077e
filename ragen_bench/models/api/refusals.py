"""Settings of a request that a server refuses by name, and can be asked without."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_SPARED = ("top_p", "seed", "temperature")
"""What can be left out, the smallest loss first."""
_UNKNOWN = re.compile(
    "unsupported|not support|unrecogni|not recogni|unknown|unexpected|not permitted|deprecated|both"
)
"""Said of a setting itself, rather than of a value outside its range."""


def refused_settings(words: str, code: str = "", parameter: Any = None) -> tuple[str, ...]:
    """Return the settings that a refusal names and that can be sent otherwise or left out.

    Args:
        words: of the server.
        code: what it calls its error.
        parameter: the setting that it says is wrong, if it says so apart from its words.
    """
    if not _UNKNOWN.search(f"{code} {words}".lower()):
        return ()
    named = {parameter} if isinstance(parameter, str) else set(re.findall(r"\w+", words))
    # The limit of an answer is never left out, only called by the name that the server gives.
    renamed = (_LIMIT,) if _LIMIT in named and _NEW_LIMIT in words else ()
    return renamed + tuple(name for name in _SPARED if name in named)


def without_refused(settings: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    """Return the settings of a request as a server takes them that refused some."""
    taken = {name: value for name, value in settings.items() if name not in refused}
    return taken | ({_NEW_LIMIT: settings[_LIMIT]} if _LIMIT in refused else {})


def refusal_note(settings: Mapping[str, Any], refused: frozenset[str]) -> str:
    """Return what became of the settings of which a server refused some, for the user."""
    notes = [f"takes {_LIMIT} as {_NEW_LIMIT}"] if _LIMIT in refused else []
    lost = [f"{name} ({settings[name]:g} was asked for)" for name in sorted(refused - {_LIMIT})]
    if lost:
        notes.append(f"refuses {' and '.join(lost)}, so that its own default counts")
    return " and ".join(notes)

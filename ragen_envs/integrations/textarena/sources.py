"""Reads the sources of TextArena's games, for facts that its registry lacks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import textarena  # type: ignore[import-untyped]


@cache
def source_of(entry_point: str) -> str:
    """Return the source of a game of TextArena, "" for a third-party game.

    Sources are read, since some games need data or keys to be imported.

    Args:
        entry_point: Entry point in TextArena's registry, as "textarena.envs.Nim.env:NimEnv".
    """
    package, *rest = entry_point.partition(":")[0].split(".")
    file = Path(*textarena.__path__).joinpath(*rest).with_suffix(".py")
    return file.read_text(encoding="utf-8") if package == "textarena" and file.is_file() else ""
